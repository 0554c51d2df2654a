import { fromBase64Url, toBase64Url } from '../base/base64.ts';
import { systemEnv } from '../base/env.ts';
import { RelayError } from '../base/errors.ts';
import { checkIdempotencyKey, uuid } from '../base/ids.ts';
import { isJsonObject, type JsonObject } from '../base/json.ts';
import { INLINE_BLOB_BYTES, PART_CHARS, STORED_BYTES } from '../base/limits.ts';
import type { TokenCount } from '../base/tokens.ts';
import { decodeUtf8, encodeUtf8 } from '../base/utf8.ts';
import {
  type PartRequest,
  type Peeked,
  type Pushed,
  type PushInput,
  pointers,
  type Visibility,
} from '../contract/pointers.ts';
import { pathOf } from '../contract/verb.ts';
import type { HttpAnswer, HttpCall, HttpClient } from './http-client.ts';
import { notARelay } from './http-failure.ts';
import { brokeOff, rangeHeader, resumingBody, startOf } from './resuming-body.ts';
import { collect, letGo } from './streams.ts';
import type { HandMade, VerbCalls } from './verb-calls.ts';

/** Larger metadata does not pass every proxy as a header; it travels inside the body where that is text. */
const METADATA_HEADER_CHARS = 8 * 1024;
/** A part, its marks and numbers, and four bytes for each character. */
const PART_ANSWER_BYTES = 8 * PART_CHARS;

/** Payloads travel as bytes, and what is known of them as headers. */
export function httpPointers(calls: VerbCalls): HandMade<typeof pointers> {
  const { client } = calls;
  const strange = (what: string) => notARelay(client.base, what);
  const get = <T>(
    path: string,
    doing: string,
    o: Pick<HttpCall, 'headers' | 'query'>,
    read: (answer: HttpAnswer) => Promise<T>,
  ) => client.run({ method: 'GET', path, repeatable: true, doing, ...o }, read);

  const peek: HandMade<typeof pointers>['peek'] = (id) =>
    get(pathOf(pointers.peek, { id }), 'peek', {}, async (answer) => {
      const metadata = await calls.read<JsonObject>(answer);
      const known = describedBy(answer.headers, id);
      if (!known) throw strange('the metadata came without its headers');
      return { ...known, metadata };
    });

  return {
    async push(input) {
      const body = input.late ? await collect(input.body, STORED) : input.body;
      const whole = { ...input, ...input.late?.(), body };
      // Only what can be sent again needs a key that makes the second time harmless.
      const repeatable = body instanceof Uint8Array;
      const key = input.idempotency_key ?? (repeatable ? uuid(systemEnv) : undefined);
      const request = pushRequest(whole);
      const headers = { ...request.headers, ...(key === undefined ? {} : idempotency(key)) };
      const call = {
        ...request,
        method: 'POST',
        path: pathOf(pointers.push, {}),
        headers,
        repeatable,
        doing: 'push',
      } as const;
      return client.run(call, async (answer) => {
        const pushed = await calls.read<Pushed>(answer);
        if (typeof pushed.url !== 'string' || typeof pushed.id !== 'string')
          throw strange('it gave no pointer');
        return pushed;
      });
    },

    async pull(id, o = {}) {
      const headers: Record<string, string> = {
        Accept: 'application/octet-stream',
        ...idempotency(o.idempotency_key ?? uuid(systemEnv)),
      };
      const call: HttpCall = {
        method: 'GET',
        path: pathOf(pointers.pull, { id }),
        headers,
        repeatable: true,
        doing: 'pull',
      };
      const asked = o.range ? { ...headers, Range: rangeHeader(o.range) } : headers;
      return client.run({ ...call, headers: asked }, async (answer) => {
        const known = describedBy(answer.headers, id);
        const start = startOf(answer);
        if (!known || start === null || !answer.body) {
          await letGo(answer.body);
          throw strange('the payload came without its headers');
        }
        const partial = answer.status === 206;
        const end = partial && o.range ? Math.min(o.range.end, known.size) : known.size;
        const body =
          end - start <= INLINE_BLOB_BYTES
            ? await wholeBody(client, answer.body, end - start)
            : resumingBody(client, call, answer.body, { start, end, etag: answer.headers.get('etag') });
        const metadata = metadataOf(answer.headers) ?? (await peek(id)).metadata;
        return { about: { ...known, metadata }, body, ...(partial ? { range: { start, end } } : {}) };
      });
    },

    async part(id, part, o = {}) {
      const headers = idempotency(o.idempotency_key ?? uuid(systemEnv));
      return get(
        pathOf(pointers.pull, { id }),
        'pull',
        { headers, query: partQuery(part) },
        async (answer) => {
          const about = decoded(answer.headers.get('relay-part'));
          if (about === null || !answer.body) {
            await letGo(answer.body);
            throw strange('it does not know parts');
          }
          const text = decodeUtf8(await collect(answer.body, { bytes: PART_ANSWER_BYTES, what: 'a part' }));
          if (text === null) throw strange('the part is not text');
          return { text, about, truncated: answer.headers.get('relay-truncated') === '1' };
        },
      );
    },

    async cost(id, part) {
      const query = part ? partQuery(part) : new URLSearchParams();
      query.set('cost', '1');
      return get(pathOf(pointers.pull, { id }), 'cost', { query }, async (answer) => {
        const cost = await calls.read<Awaited<ReturnType<HandMade<typeof pointers>['cost']>>>(answer);
        if (typeof cost.tokens !== 'number' || typeof cost.bytes !== 'number')
          throw strange('it knows no cost');
        return cost;
      });
    },

    peek,
  };
}

async function wholeBody(
  client: HttpClient,
  body: ReadableStream<Uint8Array>,
  size: number,
): Promise<Uint8Array> {
  const whole = await collect(body, { bytes: size, what: 'a payload' });
  if (whole.byteLength < size) throw brokeOff(client.base);
  return whole;
}

const STORED = { bytes: STORED_BYTES, what: 'a payload' };

/** A header takes no other characters. */
function idempotency(key: string): Record<string, string> {
  if (/^[\x21-\x7e]+$/.test(key)) return { 'Idempotency-Key': checkIdempotencyKey(key)! };
  throw new RelayError('bad_request', {
    what: 'An idempotency key that travels in a header has printable ASCII characters and no spaces.',
  });
}

function partQuery(part: PartRequest): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(part)) {
    if (value === undefined || value === false) continue;
    query.set(name, value === true ? '1' : String(value));
  }
  return query;
}

function pushRequest(input: PushInput): Pick<HttpCall, 'body' | 'headers' | 'query'> {
  const metadata = input.metadata && toBase64Url(encodeUtf8(JSON.stringify(input.metadata)));
  if (metadata && metadata.length > METADATA_HEADER_CHARS && input.body instanceof Uint8Array) {
    const data = decodeUtf8(input.body);
    if (data !== null) return envelopeRequest(input, data);
  }
  const query = new URLSearchParams();
  const fields: { readonly [name: string]: unknown } = { ...input };
  for (const name of pointers.push.raw ?? []) {
    if (fields[name] !== undefined) query.set(name, String(fields[name]));
  }
  if (input.count) query.set('count', '1');
  const headers = {
    'Content-Type': 'application/octet-stream',
    // Empty says that the type is not known; without it the type of the transport would be taken for it.
    'Relay-Content-Type': encodeURIComponent(input.content_type ?? ''),
    ...(metadata ? { 'Relay-Metadata': metadata } : {}),
    ...(input.sealed_key ? { 'Relay-Sealed-Key': input.sealed_key } : {}),
  };
  return { body: input.body, headers, query };
}

function envelopeRequest(input: PushInput, data: string): Pick<HttpCall, 'body' | 'headers' | 'query'> {
  const { channel, metadata, ttl, max_pulls, visibility, content_type, sealed_key } = input;
  const fields = { channel, metadata, ttl, max_pulls, visibility, content_type, sealed_key, data };
  return {
    body: encodeUtf8(JSON.stringify(fields)),
    headers: { 'Content-Type': 'application/json; charset=utf-8' },
    query: new URLSearchParams(input.count ? { count: '1' } : {}),
  };
}

/** What `Relay-*` headers tell of a pointer; null where they are not those of a relay. */
function describedBy(headers: Headers, id: string): Omit<Peeked, 'metadata'> | null {
  const size = whole(headers.get('relay-size'));
  const created_at = headers.get('relay-created-at');
  const expires_at = headers.get('relay-expires-at');
  if (size === null || created_at === null || expires_at === null) return null;
  const tokens = tokensOf(headers.get('relay-tokens'));
  return {
    id: headers.get('relay-id') ?? id,
    size,
    sha256: headers.get('relay-sha256') ?? headers.get('etag')?.replace(/^(?:W\/)?"|"$/g, '') ?? '',
    text: headers.get('relay-text') === '1',
    content_type: decoded(headers.get('relay-content-type')),
    channel: decoded(headers.get('relay-channel')),
    created_at,
    expires_at,
    max_pulls: whole(headers.get('relay-max-pulls')),
    visibility: (headers.get('relay-visibility') as Visibility | null) ?? 'link',
    from: decoded(headers.get('relay-from')) ?? '',
    ...(tokens ? { tokens } : {}),
  };
}

/** Null where it did not fit into a header and has to be peeked at. */
function metadataOf(headers: Headers): JsonObject | null {
  const header = headers.get('relay-metadata');
  if (header === null) return headers.has('relay-metadata-omitted') ? null : {};
  try {
    const parsed: unknown = JSON.parse(decodeUtf8(fromBase64Url(header)!)!);
    return isJsonObject(parsed) ? parsed : null;
  } catch {
    return null;
  }
}

function decoded(text: string | null): string | null {
  if (text === null || text === '') return null;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** `123; o200k_base`, with `; estimated` behind it where it is one. */
function tokensOf(header: string | null): TokenCount | null {
  const [tokens, tokenizer, estimated] = header?.split(';').map((part) => part.trim()) ?? [];
  const count = whole(tokens ?? null);
  return count === null || !tokenizer
    ? null
    : { tokens: count, tokenizer, estimated: estimated === 'estimated' };
}

function whole(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}
