import { fromBase64Url, toBase64Url } from '../base/base64.ts';
import { isJsonObject, type JsonObject, jsonObjectIn } from '../base/json.ts';
import { INLINE_BLOB_BYTES, PART_CHARS, STORED_BYTES } from '../base/limits.ts';
import type { TokenCount } from '../base/tokens.ts';
import { decodeUtf8, encodeUtf8, percentDecoded } from '../base/utf8.ts';
import {
  type Cost,
  type Peeked,
  type Pushed,
  type PushInput,
  pointers,
  type Visibility,
} from '../contract/pointers.ts';
import { takePart } from '../text/parts/take-part.ts';
import { envelopeIn, UNTOLD } from './envelope-pointers.ts';
import type { HttpCall } from './http-client.ts';
import { notARelay } from './http-failure.ts';
import { nativeMatcher } from './payload.ts';
import { brokeOff, rangeHeader, resumingBody, startOf } from './resuming-body.ts';
import { collect, letGo } from './streams.ts';
import {
  callOf,
  type HandMade,
  idempotency,
  JSON_TYPE,
  queryOf,
  upload,
  type VerbCalls,
} from './verb-calls.ts';

/** Larger metadata does not pass every proxy as a header; it travels inside the body where that is text. */
const METADATA_HEADER_CHARS = 8 * 1024;
/** A part, its marks and numbers, and four bytes for each character. */
export const PART_ANSWER_BYTES = 8 * PART_CHARS;

/** Payloads travel as bytes, and what is known of them as headers. */
export function httpPointers(calls: VerbCalls): HandMade<typeof pointers> {
  const { client } = calls;
  const strange = (what: string) => notARelay(client.base, what);

  const peek: HandMade<typeof pointers>['peek'] = (id) =>
    client.run(callOf(pointers.peek, { id }, { doing: 'peek' }), async (answer) => {
      const metadata = await calls.read<JsonObject>(answer);
      if (!isJsonObject(metadata)) throw strange('its metadata are no object');
      return { id, ...UNTOLD, ...describedBy(answer.headers, id), metadata };
    });

  return {
    async push(input) {
      const body = input.late ? await collect(input.body, STORED) : input.body;
      const call = pushCall({ ...input, ...input.late?.(), body });
      return client.run(call, async (answer) => {
        const pushed = await calls.read<Pushed>(answer);
        if (typeof pushed.url !== 'string' || typeof pushed.id !== 'string')
          throw strange('it gave no pointer');
        return pushed;
      });
    },

    async pull(id, o = {}) {
      const headers = {
        Accept: 'application/octet-stream',
        ...idempotency(o.idempotency_key),
        ...(o.keyless ? { 'Relay-Keyless': '1' } : {}),
      };
      const call = callOf(pointers.pull, { id }, { headers, doing: 'pull' });
      const asked = o.range ? { ...headers, Range: rangeHeader(o.range) } : headers;
      return client.run({ ...call, headers: asked }, async (answer) => {
        const known = describedBy(answer.headers, id);
        if (!known && answer.status === 200) return envelopeIn(answer, id, client.base);
        const start = startOf(answer);
        if (!known || start === null || !answer.body) {
          await letGo(answer.body);
          throw strange('the payload came without its headers');
        }
        const partial = answer.status === 206;
        const end = partial && o.range ? Math.min(o.range.end, known.size) : known.size;
        const body =
          end - start <= INLINE_BLOB_BYTES
            ? await collect(answer.body, { bytes: end - start, what: 'a payload' })
            : resumingBody(client, call, answer.body, { start, end, etag: answer.headers.get('etag') });
        if (body instanceof Uint8Array && body.byteLength < end - start) throw brokeOff(client.base);
        const metadata = metadataOf(answer.headers) ?? (await peek(id)).metadata;
        return { about: { ...known, metadata }, body, ...(partial ? { range: { start, end } } : {}) };
      });
    },

    async part(id, part, o = {}) {
      const headers = idempotency(o.idempotency_key);
      const call = callOf(pointers.pull, { id }, { headers, query: partQuery(part), doing: 'pull' });
      return client.run(call, async (answer) => {
        const about = decoded(answer.headers.get('relay-part'));
        if (about === null || !answer.body) {
          // It gives the whole, whatever is asked for.
          return takePart((await envelopeIn(answer, id, client.base)).body, part, nativeMatcher);
        }
        const text = decodeUtf8(await collect(answer.body, { bytes: PART_ANSWER_BYTES, what: 'a part' }));
        if (text === null) throw strange('the part is not text');
        return { text, about, truncated: answer.headers.get('relay-truncated') === '1' };
      });
    },

    async cost(id, part) {
      const query = partQuery({ ...part, cost: true });
      return client.run(callOf(pointers.pull, { id }, { query, doing: 'cost' }), async (answer) => {
        const cost = await calls.read<Cost>(answer);
        if (typeof cost.tokens !== 'number' || typeof cost.bytes !== 'number')
          throw strange('it knows no cost');
        return cost;
      });
    },

    peek,
  };
}

const STORED = { bytes: STORED_BYTES, what: 'a payload' };

/** What is false is left out. */
export function partQuery(part: object): URLSearchParams {
  return queryOf(Object.fromEntries(Object.entries(part).filter(([, value]) => value !== false)));
}

function pushCall(input: PushInput): HttpCall {
  const { channel, ttl, max_pulls, visibility, content_type, sealed_key, key_check } = input;
  const count = input.count || undefined;
  const call = (body: PushInput['body'], headers: Record<string, string>, fields: object) => {
    const query = queryOf({ ...fields, count });
    const sent = upload(body, input.idempotency_key, headers);
    return callOf(pointers.push, {}, { ...sent, query, doing: 'push' });
  };
  const metadata = input.metadata && toBase64Url(encodeUtf8(JSON.stringify(input.metadata)));
  if (metadata && metadata.length > METADATA_HEADER_CHARS && input.body instanceof Uint8Array) {
    const data = decodeUtf8(input.body);
    if (data !== null) {
      const { metadata } = input;
      const options = { channel, metadata, ttl, max_pulls, visibility, content_type, sealed_key, key_check };
      return call(encodeUtf8(JSON.stringify({ ...options, data })), JSON_TYPE, {});
    }
  }
  const headers = {
    'Content-Type': 'application/octet-stream',
    // Empty says that the type is not known; without it the type of the transport would be taken for it.
    'Relay-Content-Type': encodeURIComponent(content_type ?? ''),
    ...(metadata ? { 'Relay-Metadata': metadata } : {}),
    ...(sealed_key ? { 'Relay-Sealed-Key': sealed_key } : {}),
    ...(key_check ? { 'Relay-Key-Check': key_check } : {}),
  };
  const inQuery = (pointers.push.raw ?? []).map((name) => [name, input[name as keyof PushInput]]);
  return call(input.body, headers, Object.fromEntries(inQuery));
}

/** What `Relay-*` headers tell of a pointer; null where they are not those of a relay. */
function describedBy(headers: Headers, id: string): Omit<Peeked, 'metadata'> | null {
  const size = whole(headers.get('relay-size'));
  const created_at = headers.get('relay-created-at');
  const expires_at = headers.get('relay-expires-at');
  if (size === null || created_at === null || expires_at === null) return null;
  const tokens = tokensOf(headers.get('relay-tokens'));
  const key_check = headers.get('relay-key-check');
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
    ...(key_check ? { key_check } : {}),
  };
}

/** Null where it did not fit into a header and has to be peeked at. */
export function metadataOf(headers: Headers): JsonObject | null {
  const header = headers.get('relay-metadata');
  if (header === null) return headers.has('relay-metadata-omitted') ? null : {};
  const bytes = fromBase64Url(header);
  return bytes && jsonObjectIn(decodeUtf8(bytes));
}

export function decoded(text: string | null): string | null {
  return text ? (percentDecoded(text) ?? text) : null;
}

/** `123; o200k_base`, with `; estimated` behind it where it is one. */
function tokensOf(header: string | null): TokenCount | null {
  const [tokens, tokenizer, estimated] = header?.split(';').map((part) => part.trim()) ?? [];
  const count = whole(tokens ?? null);
  return count === null || !tokenizer
    ? null
    : { tokens: count, tokenizer, estimated: estimated === 'estimated' };
}

export function whole(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}
