import { fromBase64, fromBase64Url, toBase64, toBase64Url } from '../base/base64.ts';
import { badRequest, isRelayError } from '../base/errors.ts';
import { isJsonObject, type JsonObject, jsonObjectIn } from '../base/json.ts';
import { PART_CHARS, STORED_BYTES } from '../base/limits.ts';
import type { TokenCount } from '../base/tokens.ts';
import { decodeUtf8, encodeUtf8, percentDecoded } from '../base/utf8.ts';
import { decodeFiles, encodeFiles, FILES_TYPE } from '../contract/file-bodies.ts';
import { type FileInfo, type FilesApi, type FileText, type FileWithBytes, files } from '../contract/files.ts';
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
import { collect, discardBody, nativeMatcher } from './payload.ts';
import { rangeHeader, readBody } from './resuming-body.ts';
import {
  ANSWER_BYTES,
  buildCall,
  type HandWritten,
  idempotency,
  JSON_TYPE,
  toQuery,
  upload,
  type VerbCalls,
} from './verb-calls.ts';

/**
 * Maximum length of metadata in a header, in characters. Longer metadata is sent in a JSON body, because
 * proxies reject long headers.
 */
const METADATA_HEADER_CHARS = 8 * 1024;
/**
 * Maximum size of a response with a part of a text. A character has up to four bytes, and line numbers may
 * double the size.
 */
const PART_ANSWER_BYTES = 8 * PART_CHARS;
const STORED = { bytes: STORED_BYTES, what: 'a payload' };

/**
 * Returns the pointer methods that transfer payloads as bytes. Everything else about a payload is in the
 * headers.
 */
export function httpPointers(calls: VerbCalls): HandWritten<typeof pointers> {
  const { client } = calls;
  const notRelay = (what: string) => notARelay(client.base, what);

  const peek: HandWritten<typeof pointers>['peek'] = (id) =>
    client.run(buildCall(pointers.peek, { id }, { doing: 'peek' }), async (answer) => {
      const metadata = await calls.read<JsonObject>(answer);
      return { id, ...UNKNOWN, ...parsePointerHeaders(answer.headers, id), metadata };
    });

  return {
    async push(input) {
      const body = input.late ? await collect(input.body, STORED) : input.body;
      const call = pushCall({ ...input, ...input.late?.(), body });
      return client.run(call, async (answer) => {
        const pushed = await calls.read<Pushed>(answer);
        if (typeof pushed.url !== 'string' || typeof pushed.id !== 'string')
          throw notRelay('it returned no pointer');
        return pushed;
      });
    },

    async pull(id, options = {}) {
      const headers = {
        Accept: 'application/octet-stream',
        ...idempotency(options.idempotency_key),
        ...(options.keyless ? { 'Relay-Keyless': '1' } : {}),
        ...(options.look ? { 'Relay-Look': '1' } : {}),
      };
      const call = buildCall(pointers.pull, { id }, { headers, doing: 'pull' });
      const requestHeaders = options.range ? { ...headers, Range: rangeHeader(options.range) } : headers;
      return client.run({ ...call, headers: requestHeaders }, async (answer) => {
        const described = parsePointerHeaders(answer.headers, id);
        if (!described && answer.status === 200) return readEnvelope(answer, id, client.base);
        const { description, ...received } = await readBody(client, call, answer, described, options.range);
        const metadata = parseMetadata(answer.headers) ?? (await peek(id)).metadata;
        return { about: { ...description, metadata }, ...received };
      });
    },

    async part(id, part, options = {}) {
      const headers = idempotency(options.idempotency_key);
      const call = buildCall(pointers.pull, { id }, { headers, query: partQuery(part), doing: 'pull' });
      return client.run(call, async (answer) => {
        const found = await readPart(answer, client.base);
        // If the answer has no part, the server is the original ContextRelay server. That server ignores the part
        // request and returns the whole payload, so cut the part here.
        return found ?? takePart((await readEnvelope(answer, id, client.base)).body, part, nativeMatcher);
      });
    },

    async cost(id, part) {
      const query = partQuery({ ...part, cost: true });
      return client.run(buildCall(pointers.pull, { id }, { query, doing: 'cost' }), async (answer) => {
        const cost = await calls.read<Cost>(answer);
        if (typeof cost.tokens !== 'number' || typeof cost.bytes !== 'number')
          throw notRelay('it returned no token cost');
        return cost;
      });
    },

    peek,
  };
}

/** Returns the file methods that transfer contents as bytes. Everything else about a file is in the headers. */
export function httpFiles(calls: VerbCalls): HandWritten<typeof files> {
  const { client } = calls;
  let readsOnlyJson = false;
  const getCall = (space: string, path: string, fields: object) =>
    buildCall(files.get, { space, path }, { query: partQuery(fields), doing: 'file' });

  return {
    async put(space, path, { body, idempotency_key, ...input }) {
      const { ttl, keep, if_match, if_none_match } = input;
      const sent = upload(body, idempotency_key, {
        ...contentHeaders(input),
        ...(if_match === undefined ? {} : { 'If-Match': if_match }),
        ...(if_none_match === undefined ? {} : { 'If-None-Match': if_none_match }),
      });
      const query = toQuery({ ttl, keep });
      return calls.ask<FileInfo>(buildCall(files.put, { space, path }, { ...sent, query, doing: 'file' }));
    },

    async get(space, path, { version, range } = {}) {
      const call = getCall(space, path, { version });
      const headers: Record<string, string> = range ? { Range: rangeHeader(range) } : {};
      return client.run({ ...call, headers }, async (answer) => {
        const described = parseFileHeaders(answer.headers, space, path);
        const { description, ...received } = await readBody(client, call, answer, described, range);
        return { file: description, ...received };
      });
    },

    async read(space, paths) {
      const headers = { ...JSON_TYPE, Accept: `${FILES_TYPE}, application/json` };
      const body = encodeUtf8(JSON.stringify({ paths }));
      const call = buildCall(files.read, { space }, { headers, body, repeatable: true, doing: 'files.read' });
      return client.run(call, async (answer) => {
        if (answer.headers.get('content-type') !== FILES_TYPE) {
          // An older relay always answers in JSON.
          const found = await calls.read<FilesInJson>(answer);
          return { ...found, files: found.files.map(withBytes) };
        }
        const limit = { bytes: ANSWER_BYTES, what: 'an answer' };
        const found = answer.body && decodeFiles(await collect(answer.body, limit));
        if (!found) throw notARelay(client.base, 'it did not answer with files');
        return found as object as FilesRead;
      });
    },

    async write(space, drafts) {
      const written = drafts.map(({ content, encoding, ...file }) => ({
        ...file,
        content: typeof content === 'string' ? textBytes(content, encoding) : content,
      }));
      const send = (type: string, body: Uint8Array) =>
        calls.ask<Awaited<ReturnType<FilesApi['write']>>>(
          buildCall(
            files.write,
            { space },
            { headers: { 'Content-Type': type }, body, doing: 'files.write' },
          ),
        );
      if (!readsOnlyJson) {
        try {
          return await send(FILES_TYPE, encodeFiles({ files: written }));
        } catch (error) {
          if (!isRelayError(error, 'bad_json')) throw error;
          // An older relay takes only JSON.
          readsOnlyJson = true;
        }
      }
      const inJson = written.map((file) => ({ ...file, ...toText(file.content) }));
      return send(JSON_TYPE['Content-Type'], encodeUtf8(JSON.stringify({ files: inJson })));
    },

    info: (space, path, options = {}) =>
      calls.ask<FileInfo>(getCall(space, path, { ...options, info: true })),

    log: async (space, path) =>
      (await calls.ask<{ versions: FileInfo[] }>(getCall(space, path, { log: true }))).versions,

    part: (space, path, part, { version } = {}) =>
      client.run(getCall(space, path, { ...part, version }), async (answer) => {
        const found = await readPart(answer, client.base);
        if (!found) throw notARelay(client.base, 'it returned no part of the file');
        return found;
      }),

    cost: (space, path, part, { version } = {}) =>
      calls.ask<Cost>(getCall(space, path, { ...part, version, cost: true })),
  };
}

type FilesRead = Awaited<ReturnType<FilesApi['read']>>;
type FilesInJson = Omit<FilesRead, 'files'> & { readonly files: readonly (FileInfo & FileText)[] };

function withBytes({ content, encoding, ...file }: FileInfo & FileText): FileWithBytes {
  return { ...file, content: textBytes(content, encoding) };
}

function textBytes(content: string, encoding: FileText['encoding'] = 'utf8'): Uint8Array {
  if (encoding === 'utf8') return encodeUtf8(content);
  const bytes = fromBase64(content);
  if (bytes) return bytes;
  throw badRequest('"content" is not base64.');
}

function toText(bytes: Uint8Array): FileText {
  const text = decodeUtf8(bytes);
  return text === null
    ? { content: toBase64(bytes), encoding: 'base64' }
    : { content: text, encoding: 'utf8' };
}

/** Builds the query of a part request. Omits fields that are false. */
function partQuery(part: object): URLSearchParams {
  return toQuery(Object.fromEntries(Object.entries(part).filter(([, value]) => value !== false)));
}

/** Reads a part from a response. Returns null if the response has no `Relay-Part` header. */
async function readPart({ headers, body }: HttpAnswer, base: string): Promise<Part | null> {
  const about = decodeHeader(headers.get('relay-part'));
  if (about === null) return null;
  const text = body ? decodeUtf8(await collect(body, { bytes: PART_ANSWER_BYTES, what: 'a part' })) : '';
  if (text === null) throw notARelay(base, 'the part is not text');
  return { text, about, truncated: headers.get('relay-truncated') === '1' };
}

/** Returns the headers that describe the bytes of a request: content type and metadata. */
function contentHeaders({ content_type, metadata }: Pick<PushInput, 'content_type' | 'metadata'>) {
  return {
    'Content-Type': 'application/octet-stream',
    // An empty value means that the type is unknown. Without this header, the relay would use the HTTP
    // Content-Type, which is always application/octet-stream.
    'Relay-Content-Type': encodeURIComponent(content_type ?? ''),
    ...(metadata ? { 'Relay-Metadata': toBase64Url(encodeUtf8(JSON.stringify(metadata))) } : {}),
  };
}

function pushCall({ body, idempotency_key, late: _, size: __, count, excerpt, ...options }: PushInput) {
  const call = (sent: PushInput['body'], headers: Record<string, string>, fields: object) => {
    const query = toQuery({ ...fields, count: count || undefined, excerpt });
    const request = upload(sent, idempotency_key, headers);
    return buildCall(pointers.push, {}, { ...request, query, doing: 'push' });
  };
  const described = contentHeaders(options);
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

/**
 * Reads the description of a payload or file from `Relay-*` headers. Returns null if the response has no such
 * headers.
 */
function parseContentHeaders(headers: Headers) {
  const size = parseCount(headers.get('relay-size'));
  const created_at = headers.get('relay-created-at');
  if (size === null || created_at === null) return null;
  return {
    size,
    sha256: headers.get('relay-sha256') ?? '',
    text: headers.get('relay-text') === '1',
    content_type: decodeHeader(headers.get('relay-content-type')),
    created_at,
    from: decodeHeader(headers.get('relay-from')) ?? '',
  };
}

function parsePointerHeaders(headers: Headers, id: string): Omit<Peeked, 'metadata'> | null {
  const content = parseContentHeaders(headers);
  const expires_at = headers.get('relay-expires-at');
  if (content === null || expires_at === null) return null;
  const tokens = parseTokens(headers.get('relay-tokens'));
  const key_check = headers.get('relay-key-check');
  const pulls_left = parseCount(headers.get('relay-pulls-left'));
  const agent = decodeHeader(headers.get('relay-agent'));
  const handle = headers.get('relay-handle');
  return {
    ...content,
    id: headers.get('relay-id') ?? id,
    sha256: content.sha256 || etagOf(headers),
    channel: decodeHeader(headers.get('relay-channel')),
    expires_at,
    max_pulls: parseCount(headers.get('relay-max-pulls')),
    visibility: (headers.get('relay-visibility') as Visibility | null) ?? 'link',
    ...(tokens ? { tokens } : {}),
    ...(key_check ? { key_check } : {}),
    ...(pulls_left === null ? {} : { pulls_left }),
    ...(agent ? { agent } : {}),
    ...(handle ? { handle } : {}),
  };
}

function parseFileHeaders(headers: Headers, space: string, path: string): FileInfo | null {
  const content = parseContentHeaders(headers);
  const version = parseCount(headers.get('relay-version'));
  const modified_at = headers.get('relay-modified-at');
  const metadata = parseMetadata(headers);
  if (content === null || version === null || modified_at === null || !metadata) return null;
  const expires_at = headers.get('relay-expires-at');
  return { ...content, space, path, version, etag: etagOf(headers), metadata, modified_at, expires_at };
}

function etagOf(headers: Headers): string {
  return headers.get('etag')?.replace(/^(?:W\/)?"|"$/g, '') ?? '';
}

/**
 * Returns the metadata from its header. Returns null if the metadata did not fit into a header. In this case
 * a peek returns it.
 */
function parseMetadata(headers: Headers): JsonObject | null {
  const header = headers.get('relay-metadata');
  if (header === null) return headers.has('relay-metadata-omitted') ? null : {};
  const bytes = fromBase64Url(header);
  return bytes && jsonObjectIn(decodeUtf8(bytes));
}

function decodeHeader(text: string | null): string | null {
  return text ? (percentDecoded(text) ?? text) : null;
}

/** Parses a token count such as `123; o200k_base` or `123; o200k_base; estimated`. */
function parseTokens(header: string | null): TokenCount | null {
  const [tokens, tokenizer, estimated] = header?.split(';').map((part) => part.trim()) ?? [];
  const count = parseCount(tokens ?? null);
  return count === null || !tokenizer
    ? null
    : { tokens: count, tokenizer, estimated: estimated === 'estimated' };
}

function parseCount(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/**
 * Maximum size of a payload that is sent as JSON. Escaping makes prose and code longer, but by less than a
 * factor of three.
 */
const ENVELOPE_BYTES = 3 * STORED_BYTES;

/**
 * Description of a pointer whose server returns only metadata, such as the original ContextRelay server.
 * Everything is unknown.
 */
const UNKNOWN: Omit<Inspected, 'id' | 'metadata'> = {
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

/** Reads a payload from a response of the form `{data, metadata}`. */
async function readEnvelope(answer: HttpAnswer, id: string, base: string) {
  const limit = { bytes: ENVELOPE_BYTES, what: 'a payload' };
  const received = answer.body ? await collect(answer.body, limit) : new Uint8Array();
  const { data, metadata = {}, encoding } = jsonObjectIn(decodeUtf8(received)) ?? {};
  const body = typeof data !== 'string' ? null : encoding === 'base64' ? fromBase64(data) : encodeUtf8(data);
  if (body === null || !isJsonObject(metadata)) throw notARelay(base, 'it does not answer {data, metadata}');
  const text = encoding !== 'base64' || decodeUtf8(body) !== null;
  return { about: { id, metadata, ...UNKNOWN, size: body.byteLength, text }, body } satisfies Pulled;
}

/** Returns pointer methods for any URL that answers with `{data, metadata}`. The URL is the pointer id. */
export function urlPointers(client: HttpClient): Pick<PointersApi, 'pull' | 'peek' | 'part'> {
  const read = (address: string, doing: string) => {
    const { pathname, search } = new URL(address);
    const headers = { Accept: 'application/json, text/plain' };
    const call: HttpCall = { method: 'GET', path: pathname + search, headers, repeatable: true, doing };
    return client.run(call, (answer) => readEnvelope(answer, address, client.base));
  };
  return {
    pull: (address) => read(address, 'pull'),
    part: async (address, part) => takePart((await read(address, 'pull')).body, part, nativeMatcher),
    async peek(address) {
      const { about, body } = await read(address, 'peek');
      await discardBody(body);
      return about;
    },
  };
}
