import type { Context } from 'hono';
import { toBase64 } from '../../base/base64.ts';
import { badRequest, tooLarge } from '../../base/errors.ts';
import { JSON_BODY_BYTES } from '../../base/limits.ts';
import { decodeUtf8, percentDecoded } from '../../base/utf8.ts';
import { decodeFiles, encodeFiles, FILES_TYPE } from '../../contract/file-bodies.ts';
import {
  type FileContent,
  type FileInfo,
  type FileInput,
  type FileText,
  files,
} from '../../contract/files.ts';
import type { Relay } from '../../contract/relay.ts';
import { fileSchemas } from '../../schemas/files.ts';
import { parsePartRequest } from '../../text/parts/part-request.ts';
import { parseLimitedJson } from '../body-text.ts';
import type { Serve } from './callers.ts';
import { gather, validate } from './operation-routes.ts';
import {
  contentTypeOf,
  metadataHeader,
  parseMetadataHeader,
  queryFlag,
  queryNumber,
  requestedRange,
} from './request-fields.ts';
import { notesOf, WHOLE_BODY_BYTES } from './request-watch.ts';
import { bytesResponse, contentHeaders, jsonResponse, partResponse, rangeHeaders } from './responses.ts';

/** Routes that send and receive file contents as bytes. */
export function fileRoutes(serve: Serve): void {
  serve(files.put, async (relay, c) => {
    const { space, path } = parseFilePath(c);
    const file = await relay.files.put(space, path, await fileInput(c));
    return jsonResponse(file, { headers: { ETag: `"${file.etag}"` } });
  });

  serve(files.get, async (relay, c) => {
    const { space, path } = parseFilePath(c);
    const query = c.req.query();
    const version = parseVersion(query.version);
    const o = { version };
    if (c.req.method === 'HEAD')
      return bytesResponse(null, 200, fileHeaders(await relay.files.info(space, path, o)));
    if (queryFlag(query, 'info')) return jsonResponse(await relay.files.info(space, path, o));
    if (queryFlag(query, 'log')) return jsonResponse({ versions: await relay.files.log(space, path) });
    const part = parsePartRequest(query) ?? undefined;
    const work = { version, signal: c.req.raw.signal };
    if (queryFlag(query, 'cost')) return jsonResponse(await relay.files.cost(space, path, part, work));
    if (!part) return contentResponse(c, relay, space, path, version);
    return partResponse(await relay.files.part(space, path, part, work));
  });

  serve(files.delete, async (relay, c) => {
    const { space, path } = parseFilePath(c);
    await relay.files.delete(space, path, { if_match: c.req.header('if-match') });
    return bytesResponse(null, 204, {});
  });

  serve(files.read, async (relay, c) => {
    const { space, paths } = validate(fileSchemas.read.input, await gather(c, files.read));
    const answer = await relay.files.read(space, paths);
    if (c.req.header('accept')?.includes(FILES_TYPE))
      return bytesResponse(encodeFiles(answer), 200, {
        'Content-Type': FILES_TYPE,
        'Cache-Control': 'no-store',
      });
    const inJson = answer.files.map(({ content, ...file }) => ({
      ...file,
      ...toJsonContent(content, file.text),
    }));
    return jsonResponse({ ...answer, files: inJson });
  });

  serve(files.write, async (relay, c) => {
    const isBytes = c.req.header('content-type')?.startsWith(FILES_TYPE);
    const sent = isBytes ? await sentFiles(c) : await gather(c, files.write);
    const { contents, ...fields } = { contents: undefined, ...sent };
    const { space, files: drafts } = validate(fileSchemas.write.input, { ...fields, ...c.req.param() });
    const written = contents ? drafts.map((draft, i) => ({ ...draft, content: contents[i]! })) : drafts;
    return jsonResponse(await relay.files.write(space, written));
  });
}

/**
 * Reads a request body with several files: one line of JSON, then the bytes of each file. Returns the fields of the
 * JSON, and the contents of the files.
 */
async function sentFiles(c: Context) {
  const length = Number(c.req.header('content-length') ?? Number.NaN);
  if (!(length <= JSON_BODY_BYTES)) throw tooLarge('a request with several files', JSON_BODY_BYTES);
  const found = decodeFiles(await notesOf(c).body(length), parseLimitedJson);
  if (!found)
    throw badRequest(
      'Invalid body. Expected: one line of JSON, then the bytes of each file in "files", one after the other.',
      'In the JSON, each file has "bytes", the number of its bytes. Or send only JSON, with the contents as text or base64.',
    );
  const { files, ...fields } = found;
  return {
    ...fields,
    files: files.map((file) => ({ ...file, content: '' })),
    contents: files.map(({ content }) => content),
  };
}

function toJsonContent(bytes: Uint8Array, isText: boolean): FileText {
  const text = isText ? decodeUtf8(bytes) : null;
  return text === null
    ? { content: toBase64(bytes), encoding: 'base64' }
    : { content: text, encoding: 'utf8' };
}

async function contentResponse(
  c: Context,
  relay: Relay,
  space: string,
  path: string,
  version: number | undefined,
): Promise<Response> {
  const header = (name: string) => c.req.header(name);
  let range: FileContent['range'];
  let at = version;
  if (header('range') || header('if-none-match')) {
    const file = await relay.files.info(space, path, { version });
    const requested = requestedRange(header, `"${file.etag}"`, file.size);
    if (requested === 'unchanged')
      return bytesResponse(null, 304, contentHeaders(file.text, `"${file.etag}"`));
    // The range is valid only for the version of `file`, so read this version, even if a newer one is written
    // meanwhile.
    if (requested) [range, at] = [requested, file.version];
  }
  const { file, body } = await relay.files.get(space, path, { version: at, range });
  if (!range) return bytesResponse(body, 200, fileHeaders(file));
  return bytesResponse(body, 206, { ...fileHeaders(file), ...rangeHeaders(range, file.size) });
}

async function fileInput(c: Context): Promise<FileInput> {
  const request = c.req.raw;
  const query = c.req.query();
  const length = Number(request.headers.get('content-length') ?? Number.NaN);
  const body = length <= WHOLE_BODY_BYTES ? await notesOf(c).body(length) : request.body;
  return {
    body: body ?? new Uint8Array(0),
    size: Number.isNaN(length) ? undefined : length,
    content_type: contentTypeOf(request.headers),
    metadata: parseMetadataHeader(request.headers),
    ttl: queryNumber(query, 'ttl'),
    keep: queryNumber(query, 'keep'),
    if_match: c.req.header('if-match'),
    // The cast is safe: the domain rejects any value but `*`.
    if_none_match: c.req.header('if-none-match') as '*' | undefined,
    idempotency_key: c.req.header('idempotency-key'),
  };
}

/**
 * Returns the space and the path from the URL, decoded exactly once. An invalid escape is rejected. If it were kept
 * as text, two different URLs could name the same file: `%zz` and `%25zz`.
 */
function parseFilePath(c: Context): { space: string; path: string } {
  const { pathname } = new URL(c.req.url);
  const [space, ...names] = pathname
    .slice(pathname.indexOf('/files/') + '/files/'.length)
    .split('/')
    .map((name) => percentDecoded(name) ?? throwBadEscape());
  return { space: space!, path: names.join('/') };
}

function throwBadEscape(): never {
  throw badRequest('The file path is not percent-encoded UTF-8.');
}

function parseVersion(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^v?[1-9]\d{0,14}$/.test(text)) return Number(text.replace('v', ''));
  throw badRequest('"version" must be a whole number of at least 1.');
}

function fileHeaders(file: FileInfo): Record<string, string> {
  return {
    ...contentHeaders(file.text, `"${file.etag}"`),
    'Content-Length': String(file.size),
    'Last-Modified': new Date(file.modified_at).toUTCString(),
    'Relay-Version': String(file.version),
    'Relay-Size': String(file.size),
    'Relay-Sha256': file.sha256,
    'Relay-Text': file.text ? '1' : '0',
    'Relay-Created-At': file.created_at,
    'Relay-Modified-At': file.modified_at,
    'Relay-From': encodeURIComponent(file.from),
    ...(file.expires_at === null ? {} : { 'Relay-Expires-At': file.expires_at }),
    ...(file.content_type === null ? {} : { 'Relay-Content-Type': encodeURIComponent(file.content_type) }),
    ...metadataHeader(file.metadata),
  };
}
