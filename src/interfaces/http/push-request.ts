import type { Context } from 'hono';
import { badRequest, RelayError } from '../../base/errors.ts';
import { isJsonObject, type JsonObject, parseJson } from '../../base/json.ts';
import { MAX_PULLS, MAX_TTL_MS, PAYLOAD_BYTES, PUSH_WIRE_BYTES } from '../../base/limits.ts';
import { decodeUtf8, percentDecoded } from '../../base/utf8.ts';
import type { PushInput, PushOptions } from '../../contract/pointers.ts';
import { halfPair, noData, readJsonPush } from './json-push-stream.ts';
import { metadataIn } from './metadata-header.ts';
import { isOn } from './request-fields.ts';
import { notesOf, WHOLE_BODY_BYTES } from './request-watch.ts';

type Query = { readonly [name: string]: string | undefined };

const encoder = new TextEncoder();

/** `POST /push`: a JSON envelope when the content type says so, the payload itself otherwise. */
export async function pushInput(c: Context): Promise<PushInput> {
  const request = c.req.raw;
  const query = c.req.query();
  // What is not declared is compared with no limit: NaN is neither above nor below one.
  const length = Number(request.headers.get('content-length') ?? Number.NaN);
  const common = {
    idempotency_key: request.headers.get('idempotency-key') ?? undefined,
    count: query.count !== undefined && isOn(query, 'count'),
  };
  const type = request.headers.get('content-type') ?? '';
  if (/^application\/json\b/i.test(type.trim())) {
    if (length > PUSH_WIRE_BYTES)
      throw new RelayError('too_large', { what: 'a payload', limit: PAYLOAD_BYTES });
    // They count with a raw body alone, but what is wrong is never passed over.
    checkUnused(queryOptions(query));
    return { ...(await jsonInput(c, length)), ...common };
  }
  const body = length <= WHOLE_BODY_BYTES ? await notesOf(c).body(length) : request.body;
  if (!body) throw new RelayError('empty_payload');
  const size = Number.isNaN(length) ? undefined : length;
  return { body, size, ...rawOptions(request, query), ...common };
}

async function jsonInput(c: Context, length: number): Promise<PushInput> {
  if (length <= WHOLE_BODY_BYTES) {
    const text = decodeUtf8(await notesOf(c).body(length));
    if (text === null) throw new RelayError('bad_json', { what: 'it is not UTF-8' });
    const parsed = parseJson(text);
    const { data, ...fields } = isJsonObject(parsed) ? parsed : {};
    if (typeof data !== 'string') throw noData();
    if (!data.isWellFormed()) throw halfPair();
    return { body: encoder.encode(data), ...options(fields) };
  }
  const { body } = c.req.raw;
  if (!body) throw new RelayError('empty_payload');
  const { data, fields } = readJsonPush(body);
  return { body: data, late: () => options(fields()) };
}

/** The fields of the envelope that we know; others are ignored. The domain checks their types. */
function options(fields: JsonObject): PushOptions {
  const { channel, metadata, ttl, max_pulls, visibility, ...rest } = fields as PushOptions;
  const { content_type, sealed_key, key_check } = rest;
  return { channel, metadata, ttl, max_pulls, visibility, content_type, sealed_key, key_check };
}

/** With a raw body the options are in the query and in headers. */
function rawOptions(request: Request, query: Query): PushOptions {
  return {
    ...queryOptions(query),
    metadata: metadataIn(request.headers),
    sealed_key: request.headers.get('relay-sealed-key') ?? undefined,
    key_check: request.headers.get('relay-key-check') ?? undefined,
    content_type: contentTypeOf(request.headers),
  };
}

/** What a body is: as its header says, or as that of its own which no client library sets by itself. */
export function contentTypeOf(headers: Headers): string | undefined {
  const declared = headers.get('relay-content-type');
  const type = declared === null ? headers.get('content-type') : percentDecoded(declared);
  if (type === null && declared !== null)
    throw new RelayError('bad_request', { what: 'Relay-Content-Type must be percent-encoded.' });
  return type || undefined;
}

function queryOptions(query: Query): PushOptions {
  const { channel, visibility } = query;
  // Older clients send an empty channel in a JSON envelope for none; in a query it is a variable that was not set.
  if (channel === '') throw badRequest('"channel" is empty.', 'Name a channel, or leave it out.');
  if (visibility !== undefined && visibility !== 'link' && visibility !== 'tenant')
    throw new RelayError('bad_request', { what: '"visibility" is "link" or "tenant".' });
  return { channel, visibility, ttl: numberIn(query, 'ttl'), max_pulls: numberIn(query, 'max_pulls') };
}

function checkUnused({ ttl = 1, max_pulls = 1 }: PushOptions): void {
  if (ttl < 1 || ttl * 1000 > MAX_TTL_MS || max_pulls < 1 || max_pulls > MAX_PULLS || max_pulls % 1 !== 0)
    throw new RelayError('bad_request', { what: '"ttl" or "max_pulls" in the query is out of bounds.' });
}

/** A number in the query; undefined where there is none. */
export function numberIn(query: Query, name: string): number | undefined {
  const value = query[name];
  if (value === undefined || value === '') return undefined;
  if (/^-?\d+(\.\d+)?$/.test(value)) return Number(value);
  throw badRequest(`"${name}" must be a number, not ${JSON.stringify(value.slice(0, 40))}.`);
}
