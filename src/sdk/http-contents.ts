import { fromBase64, fromBase64Url, toBase64Url } from '../base/base64.ts';
import { isJsonObject, type JsonObject, jsonObjectIn } from '../base/json.ts';
import { PART_CHARS, STORED_BYTES } from '../base/limits.ts';
import type { TokenCount } from '../base/tokens.ts';
import { decodeUtf8, encodeUtf8, percentDecoded } from '../base/utf8.ts';
import { type FileInfo, files } from '../contract/files.ts';
import {
  type Cost,
  type Inspected,
  type Part,
  type Peeked,
  type PointersApi,
  type Pulled,
  type Pushed,
  type PushInput,
  pointers,
  type Visibility,
} from '../contract/pointers.ts';
import { takePart } from '../text/parts/take-part.ts';
import { type HttpAnswer, type HttpCall, type HttpClient, notARelay } from './http-client.ts';
import { collect, letGo, nativeMatcher } from './payload.ts';
import { rangeHeader, receive } from './resuming-body.ts';
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
const PART_ANSWER_BYTES = 8 * PART_CHARS;
const STORED = { bytes: STORED_BYTES, what: 'a payload' };

/** Payloads travel as bytes, and what is known of them as headers. */
export function httpPointers(calls: VerbCalls): HandMade<typeof pointers> {
  const { client } = calls;
  const strange = (what: string) => notARelay(client.base, what);

  const peek: HandMade<typeof pointers>['peek'] = (id) =>
    client.run(callOf(pointers.peek, { id }, { doing: 'peek' }), async (answer) => {
      const metadata = await calls.read<JsonObject>(answer);
      return { id, ...UNTOLD, ...pointerIn(answer.headers, id), metadata };
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
        const told = pointerIn(answer.headers, id);
        if (!told && answer.status === 200) return envelopeIn(answer, id, client.base);
        const { known, ...received } = await receive(client, call, answer, told, o.range);
        const metadata = metadataOf(answer.headers) ?? (await peek(id)).metadata;
        return { about: { ...known, metadata }, ...received };
      });
    },

    async part(id, part, o = {}) {
      const headers = idempotency(o.idempotency_key);
      const call = callOf(pointers.pull, { id }, { headers, query: partQuery(part), doing: 'pull' });
      return client.run(call, async (answer) => {
        const found = await partIn(answer, client.base);
        // It gives the whole, whatever is asked for.
        return found ?? takePart((await envelopeIn(answer, id, client.base)).body, part, nativeMatcher);
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

/** Contents of files travel as bytes, and what is known of them as headers. */
export function httpFiles(calls: VerbCalls): HandMade<typeof files> {
  const { client } = calls;
  const asking = (space: string, path: string, fields: object) =>
    callOf(files.get, { space, path }, { query: partQuery(fields), doing: 'file' });

  return {
    async put(space, path, { body, idempotency_key, ...input }) {
      const { ttl, keep, if_match, if_none_match } = input;
      const sent = upload(body, idempotency_key, {
        ...describing(input),
        ...(if_match === undefined ? {} : { 'If-Match': if_match }),
        ...(if_none_match === undefined ? {} : { 'If-None-Match': if_none_match }),
      });
      const query = queryOf({ ttl, keep });
      return calls.ask<FileInfo>(callOf(files.put, { space, path }, { ...sent, query, doing: 'file' }));
    },

    async get(space, path, { version, range } = {}) {
      const call = asking(space, path, { version });
      const headers: Record<string, string> = range ? { Range: rangeHeader(range) } : {};
      return client.run({ ...call, headers }, async (answer) => {
        const told = fileIn(answer.headers, space, path);
        const { known, ...received } = await receive(client, call, answer, told, range);
        return { file: known, ...received };
      });
    },

    info: (space, path, o = {}) => calls.ask<FileInfo>(asking(space, path, { ...o, info: true })),

    log: async (space, path) =>
      (await calls.ask<{ versions: FileInfo[] }>(asking(space, path, { log: true }))).versions,

    part: (space, path, part, { version } = {}) =>
      client.run(asking(space, path, { ...part, version }), async (answer) => {
        const found = await partIn(answer, client.base);
        if (!found) throw notARelay(client.base, 'that is no part of a file');
        return found;
      }),

    cost: (space, path, part, { version } = {}) =>
      calls.ask<Cost>(asking(space, path, { ...part, version, cost: true })),
  };
}

/** What is false is left out. */
function partQuery(part: object): URLSearchParams {
  return queryOf(Object.fromEntries(Object.entries(part).filter(([, value]) => value !== false)));
}

/** The part of a text that an answer holds; null where it holds something else. */
async function partIn({ headers, body }: HttpAnswer, base: string): Promise<Part | null> {
  const about = decoded(headers.get('relay-part'));
  if (about === null) return null;
  const text = body ? decodeUtf8(await collect(body, { bytes: PART_ANSWER_BYTES, what: 'a part' })) : '';
  if (text === null) throw notARelay(base, 'the part is not text');
  return { text, about, truncated: headers.get('relay-truncated') === '1' };
}

/** The headers that say what the bytes of a request are. */
function describing({ content_type, metadata }: Pick<PushInput, 'content_type' | 'metadata'>) {
  return {
    'Content-Type': 'application/octet-stream',
    // Empty says that the type is not known; without it the type of the transport would be taken for it.
    'Relay-Content-Type': encodeURIComponent(content_type ?? ''),
    ...(metadata ? { 'Relay-Metadata': toBase64Url(encodeUtf8(JSON.stringify(metadata))) } : {}),
  };
}

function pushCall({ body, idempotency_key, late: _, size: __, count, ...options }: PushInput): HttpCall {
  const call = (sent: PushInput['body'], headers: Record<string, string>, fields: object) => {
    const query = queryOf({ ...fields, count: count || undefined });
    const request = upload(sent, idempotency_key, headers);
    return callOf(pointers.push, {}, { ...request, query, doing: 'push' });
  };
  const described = describing(options);
  const tooLong = (described['Relay-Metadata']?.length ?? 0) > METADATA_HEADER_CHARS;
  const data = tooLong && body instanceof Uint8Array ? decodeUtf8(body) : null;
  if (data !== null) return call(encodeUtf8(JSON.stringify({ ...options, data })), JSON_TYPE, {});
  const headers = {
    ...described,
    ...(options.sealed_key ? { 'Relay-Sealed-Key': options.sealed_key } : {}),
    ...(options.key_check ? { 'Relay-Key-Check': options.key_check } : {}),
  };
  const inQuery = (pointers.push.raw ?? []).map((name) => [name, options[name as keyof typeof options]]);
  return call(body, headers, Object.fromEntries(inQuery));
}

/** What `Relay-*` headers tell of any content; null where they are not those of a relay. */
function contentIn(headers: Headers) {
  const size = whole(headers.get('relay-size'));
  const created_at = headers.get('relay-created-at');
  if (size === null || created_at === null) return null;
  return {
    size,
    sha256: headers.get('relay-sha256') ?? '',
    text: headers.get('relay-text') === '1',
    content_type: decoded(headers.get('relay-content-type')),
    created_at,
    from: decoded(headers.get('relay-from')) ?? '',
  };
}

function pointerIn(headers: Headers, id: string): Omit<Peeked, 'metadata'> | null {
  const content = contentIn(headers);
  const expires_at = headers.get('relay-expires-at');
  if (content === null || expires_at === null) return null;
  const tokens = tokensOf(headers.get('relay-tokens'));
  const key_check = headers.get('relay-key-check');
  return {
    ...content,
    id: headers.get('relay-id') ?? id,
    sha256: content.sha256 || etagOf(headers),
    channel: decoded(headers.get('relay-channel')),
    expires_at,
    max_pulls: whole(headers.get('relay-max-pulls')),
    visibility: (headers.get('relay-visibility') as Visibility | null) ?? 'link',
    ...(tokens ? { tokens } : {}),
    ...(key_check ? { key_check } : {}),
  };
}

function fileIn(headers: Headers, space: string, path: string): FileInfo | null {
  const content = contentIn(headers);
  const version = whole(headers.get('relay-version'));
  const modified_at = headers.get('relay-modified-at');
  const metadata = metadataOf(headers);
  if (content === null || version === null || modified_at === null || !metadata) return null;
  const expires_at = headers.get('relay-expires-at');
  return { ...content, space, path, version, etag: etagOf(headers), metadata, modified_at, expires_at };
}

function etagOf(headers: Headers): string {
  return headers.get('etag')?.replace(/^(?:W\/)?"|"$/g, '') ?? '';
}

/** Null where it did not fit into a header and has to be peeked at. */
function metadataOf(headers: Headers): JsonObject | null {
  const header = headers.get('relay-metadata');
  if (header === null) return headers.has('relay-metadata-omitted') ? null : {};
  const bytes = fromBase64Url(header);
  return bytes && jsonObjectIn(decodeUtf8(bytes));
}

function decoded(text: string | null): string | null {
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

function whole(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** In JSON a text takes more room than by itself; three times as much is beyond what any prose or code comes to. */
const ENVELOPE_BYTES = 3 * STORED_BYTES;

/** What is known of a pointer whose server says nothing beside its metadata, as that of the original ContextRelay does. */
const UNTOLD: Omit<Inspected, 'id' | 'metadata'> = {
  size: null,
  sha256: null,
  text: null,
  content_type: null,
  channel: null,
  created_at: null,
  expires_at: null,
  max_pulls: null,
  visibility: null,
  from: null,
};

/** A payload that came as `{data, metadata}` and nothing else. */
async function envelopeIn(answer: HttpAnswer, id: string, base: string) {
  const limit = { bytes: ENVELOPE_BYTES, what: 'a payload' };
  const received = answer.body ? await collect(answer.body, limit) : new Uint8Array();
  const { data, metadata = {}, encoding } = jsonObjectIn(decodeUtf8(received)) ?? {};
  const body = typeof data !== 'string' ? null : encoding === 'base64' ? fromBase64(data) : encodeUtf8(data);
  if (body === null || !isJsonObject(metadata)) throw notARelay(base, 'it does not answer {data, metadata}');
  const text = encoding !== 'base64' || decodeUtf8(body) !== null;
  return { about: { id, metadata, ...UNTOLD, size: body.byteLength, text }, body } satisfies Pulled;
}

/** Reads any address that answers the envelope. There the id of a pointer is the address itself. */
export function addressPointers(client: HttpClient): Pick<PointersApi, 'pull' | 'peek' | 'part'> {
  const read = (address: string, doing: string) => {
    const { pathname, search } = new URL(address);
    const headers = { Accept: 'application/json, text/plain' };
    const call: HttpCall = { method: 'GET', path: pathname + search, headers, repeatable: true, doing };
    return client.run(call, (answer) => envelopeIn(answer, address, client.base));
  };
  return {
    pull: (address) => read(address, 'pull'),
    part: async (address, part) => takePart((await read(address, 'pull')).body, part, nativeMatcher),
    async peek(address) {
      const { about, body } = await read(address, 'peek');
      await letGo(body);
      return about;
    },
  };
}
