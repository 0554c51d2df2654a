import type { Context } from 'hono';
import { toBase64 } from '../../base/base64.ts';
import { concatBytes } from '../../base/byte-streams.ts';
import { badRequest, RelayError, tooLarge } from '../../base/errors.ts';
import { isJsonObject, type JsonObject, parseJson } from '../../base/json.ts';
import { MAX_PULLS, MAX_TTL_MS, PAYLOAD_BYTES, PUSH_WIRE_BYTES } from '../../base/limits.ts';
import { decodeUtf8 } from '../../base/utf8.ts';
import {
  type Inspected,
  type Peeked,
  type Pulled,
  type PullOptions,
  type PushInput,
  type PushOptions,
  pointers,
} from '../../contract/pointers.ts';
import type { Relay } from '../../contract/relay.ts';
import { parsePartRequest } from '../../text/parts/part-request.ts';
import type { Serve } from './callers.ts';
import { pageResponse } from './dashboard.ts';
import type { HttpDeps } from './deps.ts';
import { missingField, readJsonPush, unpairedSurrogate } from './json-push-stream.ts';
import {
  contentTypeOf,
  metadataHeader,
  parseMetadataHeader,
  type Query,
  queryFlag,
  queryNumber,
  type Range,
  requestedRange,
} from './request-fields.ts';
import { notesOf, type RequestNotes, WHOLE_BODY_BYTES } from './request-watch.ts';
import {
  bytesHeaders,
  bytesResponse,
  contentHeaders,
  jsonHeaders,
  jsonResponse,
  partResponse,
  rangeHeaders,
  textResponse,
} from './responses.ts';

/** Routes that push, peek and pull payloads. */
export function pointerRoutes(serve: Serve, deps: Pick<HttpDeps, 'dashboard'>): void {
  serve(pointers.push, async (relay, c) => jsonResponse(await relay.pointers.push(await pushInput(c))));

  serve(pointers.peek, async (relay, c) => {
    const peeked = await relay.pointers.peek(c.req.param('id')!);
    const headers = jsonHeaders(relayHeaders(asPeeked(peeked)));
    return new Response(JSON.stringify(peeked.metadata), { headers });
  });

  serve(pointers.pull, async (relay, c) => {
    const id = c.req.param('id')!;
    // A HEAD request neither reads the payload nor counts as a pull.
    if (c.req.method === 'HEAD')
      return new Response(null, { headers: wholeHeaders(await relay.pointers.peek(id)) });
    const query = c.req.query();
    // The query may select a part: `?lines=10-40`, `?grep=…`, `?json=/a/b`, `?question=…` or `?outline=1`.
    const part = parsePartRequest(query) ?? undefined;
    if (queryFlag(query, 'cost'))
      return jsonResponse(await relay.pointers.cost(id, part, abortOnDisconnect(c)));
    const notes = notesOf(c);
    const options = {
      idempotency_key: notes.header('idempotency-key') ?? undefined,
      keyless: notes.header('relay-keyless') === '1',
      look: notes.header('relay-look') === '1',
    };
    if (part)
      return partResponse(await relay.pointers.part(id, part, { ...options, ...abortOnDisconnect(c) }));
    const accept = notes.header('accept') ?? '';
    if (queryFlag(query, 'raw') || accept.includes('application/octet-stream'))
      return rawResponse(notes, relay, id, options);
    // The page is the same for every pointer and does not read the payload, so a link preview uses up no
    // pull.
    if (accept.includes('text/html')) return pageResponse(c, deps.dashboard, 'pull.html');
    const pulled = await relay.pointers.pull(id, options);
    return textResponse(envelope(pulled), { Vary: 'Accept', ...relayHeaders(asPeeked(pulled.about)) });
  });
}

/**
 * Returns options that stop the work when the client disconnects. Pulls of a whole payload omit them:
 * creating a signal is slow.
 */
const abortOnDisconnect = (c: Context) => ({ signal: c.req.raw.signal });

async function rawResponse(notes: RequestNotes, relay: Relay, id: string, o: PullOptions): Promise<Response> {
  const header = (name: string) => notes.header(name);
  let range: Range | null = null;
  if (header('range') || header('if-none-match')) {
    const { sha256, text, size } = asPeeked(await relay.pointers.peek(id));
    const requested = requestedRange(header, `"${sha256}"`, size);
    if (requested === 'unchanged') return bytesResponse(null, 304, rawHeaders(sha256, text));
    range = requested;
  }
  const { about, body, range: served } = await relay.pointers.pull(id, range ? { ...o, range } : o);
  if (!served) return new Response(body as BodyInit, { headers: wholeHeaders(about) });
  return bytesResponse(body, 206, { ...wholeHeaders(about), ...rangeHeaders(served, about.size) });
}

/** Returns the headers of a response with the whole payload. */
function wholeHeaders(about: Inspected): Record<string, string> {
  const peeked = asPeeked(about);
  return bytesHeaders({
    ...rawHeaders(peeked.sha256, peeked.text),
    'Content-Length': String(peeked.size),
    ...relayHeaders(peeked),
    ...metadataHeader(peeked.metadata),
  });
}

/** Casts to `Peeked`: a pointer from the server's own store has all its fields. */
const asPeeked = (about: Inspected) => about as Peeked;

function rawHeaders(sha256: string, text: boolean): Record<string, string> {
  return { ...contentHeaders(text, `"${sha256}"`), Vary: 'Accept' };
}

/**
 * Returns the fields of a pointer as response headers. Free text is percent-encoded, because headers are
 * ASCII.
 */
function relayHeaders(p: Peeked): Record<string, string> {
  const headers: Record<string, string> = {
    'Relay-Id': p.id,
    'Relay-Size': String(p.size),
    'Relay-Sha256': p.sha256,
    'Relay-Text': p.text ? '1' : '0',
    'Relay-Created-At': p.created_at,
    'Relay-Expires-At': p.expires_at,
    'Relay-Visibility': p.visibility,
    'Relay-From': encodeURIComponent(p.from),
  };
  if (p.content_type !== null) headers['Relay-Content-Type'] = encodeURIComponent(p.content_type);
  if (p.channel !== null) headers['Relay-Channel'] = encodeURIComponent(p.channel);
  if (p.max_pulls !== null) headers['Relay-Max-Pulls'] = String(p.max_pulls);
  if (p.pulls_left !== undefined) headers['Relay-Pulls-Left'] = String(p.pulls_left);
  if (p.agent !== undefined) headers['Relay-Agent'] = encodeURIComponent(p.agent);
  if (p.key_check !== undefined) headers['Relay-Key-Check'] = p.key_check;
  if (p.handle !== undefined) headers['Relay-Handle'] = p.handle;
  if (p.tokens) {
    const { tokens, tokenizer, estimated } = p.tokens;
    headers['Relay-Tokens'] = `${tokens}; ${tokenizer}${estimated ? '; estimated' : ''}`;
  }
  return headers;
}

/**
 * Reads the body of `POST /push`: a JSON envelope if the content type is JSON, otherwise the payload itself.
 */
async function pushInput(c: Context): Promise<PushInput> {
  const request = c.req.raw;
  const query = c.req.query();
  // Without a declared length this is NaN. Every comparison below is then false, and the body is read as a stream.
  const length = Number(request.headers.get('content-length') ?? Number.NaN);
  const common = {
    idempotency_key: request.headers.get('idempotency-key') ?? undefined,
    count: query.count !== undefined && queryFlag(query, 'count'),
    excerpt: queryNumber(query, 'excerpt'),
  };
  const type = request.headers.get('content-type') ?? '';
  if (/^application\/json\b/i.test(type.trim())) {
    if (length > PUSH_WIRE_BYTES) throw tooLarge('a payload', PAYLOAD_BYTES);
    // A JSON envelope has its own options. Options in the query are ignored, but an invalid option is still an error.
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
    if (typeof data !== 'string') throw missingField();
    if (!data.isWellFormed()) throw unpairedSurrogate();
    return { body: utf8.encode(data), ...envelopeOptions(fields) };
  }
  const { body } = c.req.raw;
  if (!body) throw new RelayError('empty_payload');
  const { data, fields } = readJsonPush(body);
  return { body: data, late: () => envelopeOptions(fields()) };
}

/** Picks the known fields of the envelope and ignores other fields. The domain checks their types. */
function envelopeOptions(fields: JsonObject): PushOptions {
  const { channel, metadata, ttl, max_pulls, visibility, ...rest } = fields as PushOptions;
  const { content_type, sealed_key, key_check } = rest;
  return { channel, metadata, ttl, max_pulls, visibility, content_type, sealed_key, key_check };
}

/** Reads the options of a raw push from the query and the headers. */
function rawOptions(request: Request, query: Query): PushOptions {
  return {
    ...queryOptions(query),
    metadata: parseMetadataHeader(request.headers),
    sealed_key: request.headers.get('relay-sealed-key') ?? undefined,
    key_check: request.headers.get('relay-key-check') ?? undefined,
    content_type: contentTypeOf(request.headers),
  };
}

function queryOptions(query: Query): PushOptions {
  const { channel, visibility } = query;
  // An empty channel in a query probably comes from an unset shell variable, so it is an error. In an
  // envelope it means no channel.
  if (channel === '') throw badRequest('"channel" is empty.', 'Name a channel, or omit the parameter.');
  if (visibility !== undefined && visibility !== 'link' && visibility !== 'tenant')
    throw badRequest('"visibility" must be "link" or "tenant".');
  return { channel, visibility, ttl: queryNumber(query, 'ttl'), max_pulls: queryNumber(query, 'max_pulls') };
}

function checkUnused({ ttl = 1, max_pulls = 1 }: PushOptions): void {
  if (ttl < 1 || ttl * 1000 > MAX_TTL_MS || max_pulls < 1 || max_pulls > MAX_PULLS || max_pulls % 1 !== 0)
    throw badRequest(
      `"ttl" must be from 1 to ${MAX_TTL_MS / 1000} seconds, and "max_pulls" a whole number from 1 to ${MAX_PULLS}.`,
    );
}

/**
 * Cache of encoded envelopes, by the byte array of the payload: all subscribers of a channel pull the same
 * array, so its envelope is encoded once. Pointers with equal payloads may share an array, so the metadata
 * must be equal too.
 */
const envelopes = new WeakMap<Uint8Array, { readonly metadata: string; readonly encoded: Uint8Array }>();

const utf8 = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * Returns `{"data": …, "metadata": …}`, the format that existing clients expect. A large payload is streamed.
 */
function envelope({ body, about }: Pulled): Uint8Array | ReadableStream<Uint8Array> {
  if (!(body instanceof Uint8Array)) return streamedEnvelope(body, about);
  const metadata = JSON.stringify(about.metadata);
  const cached = envelopes.get(body);
  if (cached?.metadata === metadata) return cached.encoded;
  const data = JSON.stringify(about.text ? decoder.decode(body) : toBase64(body));
  const encoding = about.text ? '' : ',"encoding":"base64"';
  const encoded = utf8.encode(`{"data":${data},"metadata":${metadata}${encoding}}`);
  envelopes.set(body, { metadata, encoded });
  return encoded;
}

function streamedEnvelope(
  body: ReadableStream<Uint8Array>,
  { text, metadata }: Inspected,
): ReadableStream<Uint8Array> {
  const encode = text ? jsonEscaper() : base64Encoder();
  const tail = `","metadata":${JSON.stringify(metadata)}${text ? '' : ',"encoding":"base64"'}}`;
  return body.pipeThrough(
    new TransformStream({
      start: (controller) => controller.enqueue(utf8.encode('{"data":"')),
      transform: (bytes, controller) => controller.enqueue(utf8.encode(encode(bytes, true))),
      flush: (controller) => controller.enqueue(utf8.encode(encode(new Uint8Array(0), false) + tail)),
    }),
  );
}

/** Encodes bytes for a JSON string. With `more`, keeps incomplete bytes at the end for the next call. */
type Encoder = (bytes: Uint8Array, more: boolean) => string;

/**
 * Returns an encoder that escapes text. The decoder keeps back a character that is split between two chunks.
 */
function jsonEscaper(): Encoder {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  return (bytes, more) => JSON.stringify(decoder.decode(bytes, { stream: more })).slice(1, -1);
}

/** Returns a base64 encoder. It encodes groups of three bytes and keeps the rest for the next chunk. */
function base64Encoder(): Encoder {
  let left = new Uint8Array(0);
  return (bytes, more) => {
    const all = concatBytes([left, bytes]);
    const end = more ? all.length - (all.length % 3) : all.length;
    left = all.slice(end);
    return toBase64(all.subarray(0, end));
  };
}
