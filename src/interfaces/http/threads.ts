import type { Context } from 'hono';
import { fromBase64 } from '../../base/base64.ts';
import { limitBytes } from '../../base/byte-streams.ts';
import { badRequest, RelayError, tooLarge } from '../../base/errors.ts';
import { isJsonObject, parseJson } from '../../base/json.ts';
import { ARTIFACT_BYTES, BUNDLE_BYTES } from '../../base/limits.ts';
import { decodeUtf8, encodeUtf8 } from '../../base/utf8.ts';
import type { Relay } from '../../contract/relay.ts';
import {
  type Artifact,
  type ArtifactFields,
  type ArtifactInput,
  type ThreadEvent,
  threads,
} from '../../contract/threads.ts';
import { artifactKind } from '../../domain/threads/artifact-kind.ts';
import type { Serve } from './callers.ts';
import type { HttpDeps } from './deps.ts';
import { liveEvents } from './events.ts';
import { readJsonPush } from './json-push-stream.ts';
import { type Form, readForm } from './multipart.ts';
import { parseRange, queryFlag } from './request-fields.ts';
import { bytesResponse, jsonResponse, rangeHeaders } from './responses.ts';

/** Serves the routes of threads that are not plain JSON: artifact contents, bundles and live events. */
export function threadRoutes(serve: Serve, deps: HttpDeps): void {
  serve(threads.putArtifact, async (relay, c) => {
    const input = await artifactInput(c.req.raw, new URL(c.req.url).searchParams, deps.jsonArtifactBytes);
    return jsonResponse(await relay.threads.putArtifact(c.req.param('thread_id')!, input), { status: 201 });
  });

  serve(threads.artifact, async (relay, c) => {
    const query = c.req.query();
    if (queryFlag(query, 'raw')) return contentResponse(relay, c);
    const [id, ref] = [c.req.param('thread_id')!, c.req.param('ref')!];
    return jsonResponse(await relay.threads.artifact(id, ref, { counted: isCounted(c) }));
  });

  serve(threads.content, (relay, c) => {
    // Require an Accept header, as the Go relay did, so that nobody fetches a large content by accident.
    if (c.req.header('accept') === undefined) throw new RelayError('not_acceptable');
    return contentResponse(relay, c);
  });

  serve(threads.events, async (relay, c) => {
    const id = c.req.param('thread_id')!;
    const query = c.req.query();
    const live = /\btext\/event-stream\b/.test(c.req.header('accept') ?? '') || queryFlag(query, 'stream');
    const after = c.req.header('last-event-id') ?? query.after;
    const limit = query.limit === undefined ? undefined : pageLimit(query.limit);
    // Read one event first, so that a wrong id or position gets an error response.
    if (!live) return jsonResponse(await relay.threads.events(id, { after, limit }));
    await relay.threads.events(id, { after, limit: 1 });
    return liveEvents(c, deps, (signal) => relay.threads.watch(id, { after, signal }), serializeEvent);
  });

  serve(threads.export, async (relay, c) => {
    const { body, name, damaged } = await relay.threads.export(c.req.param('thread_id')!);
    return bytesResponse(body, 200, {
      'Content-Type': 'application/zip',
      'Content-Disposition': `attachment; filename="${name}"`,
      'Cache-Control': 'no-store',
      ...(damaged.length > 0 ? { 'Relay-Damaged': damaged.join(' ') } : {}),
    });
  });

  serve(threads.import, async (relay, c) => {
    const { body } = c.req.raw;
    if (!body) throw new RelayError('empty_payload');
    if (Number(c.req.header('content-length') ?? 0) > BUNDLE_BYTES) throw tooLarge('a bundle', BUNDLE_BYTES);
    return jsonResponse(await relay.threads.import(body), { status: 201 });
  });
}

function serializeEvent(event: ThreadEvent): string {
  return `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

function pageLimit(text: string): number {
  const limit = Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= 1000) return limit;
  throw badRequest('"limit" must be a whole number from 1 to 1000.');
}

function isCounted(c: Context): boolean {
  const query = c.req.query();
  return c.req.method !== 'HEAD' && (query.counted === undefined || queryFlag(query, 'counted'));
}

async function contentResponse(relay: Relay, c: Context): Promise<Response> {
  const [id, ref] = [c.req.param('thread_id')!, c.req.param('ref')!];
  const rangeHeader = c.req.header('range');
  // Only a range request needs the size before the content is read.
  const range = rangeHeader
    ? parseRange(rangeHeader, (await relay.threads.artifact(id, ref, { counted: false })).size)
    : null;
  const { artifact, body } =
    c.req.method === 'HEAD'
      ? { artifact: await relay.threads.artifact(id, ref, { counted: false }), body: null }
      : await relay.threads.content(id, ref, { counted: isCounted(c), ...(range ? { range } : {}) });
  const { size } = artifact;
  const headers: Record<string, string> = {
    ...artifactHeaders(artifact, c.req.header('accept') ?? ''),
    'Content-Length': String(size),
    ...(range ? rangeHeaders(range, size) : {}),
  };
  return bytesResponse(body, range ? 206 : 200, headers);
}

/** Returns headers that keep browsers from running the content, whatever type its author declared. */
function artifactHeaders(artifact: Artifact, accept: string): Record<string, string> {
  const { hash, ref, type, mime } = artifact;
  const raw = /\bapplication\/octet-stream\b/.test(accept) || artifactKind(artifact) === 'binary';
  const safe = type === 'json' ? 'application/json; charset=utf-8' : 'text/plain; charset=utf-8';
  return {
    'Content-Type': raw ? 'application/octet-stream' : safe,
    'Relay-Mime': mime.replace(/[^\x20-\x7e]/g, ''),
    'Relay-Artifact-Type': type,
    'Relay-Name': encodeURIComponent(artifact.name),
    'Content-Disposition': `attachment; filename="${ref}"`,
    'Content-Security-Policy': "default-src 'none'; sandbox",
    ETag: `"${hash}"`,
    'Accept-Ranges': 'bytes',
    'Cache-Control': 'private, no-cache',
  };
}

/** Maximum size in bytes of a JSON body that is read into memory. Larger ones are streamed. */
const WHOLE_JSON_BYTES = 2 * 1024 * 1024;
/**
 * Maximum size in bytes of a JSON body. Each byte of the content may be escaped as `\u00XX`, which has 6
 * bytes.
 */
const JSON_WIRE_BYTES = ARTIFACT_BYTES * 6 + 256 * 1024;
const RAW_BODY_HINT = 'Send the content itself as the body with ?name=…, or send a form with a file.';

/**
 * Reads the body of `POST …/artifacts`: a JSON object with `content` (at most `jsonBytes` bytes), a form with
 * a file, or the content itself.
 */
async function artifactInput(
  request: Request,
  query: URLSearchParams,
  jsonBytes?: number,
): Promise<ArtifactInput> {
  const type = request.headers.get('content-type') ?? '';
  const key = request.headers.get('idempotency-key') ?? undefined;
  const length = Number(request.headers.get('content-length') ?? Number.NaN);
  if (!request.body) throw new RelayError('empty_payload');
  if (/^application\/json\b/i.test(type) && !query.has('name')) {
    if (length > JSON_WIRE_BYTES) throw tooLarge('an artifact', ARTIFACT_BYTES);
    return { ...(await fromJson(request, length, jsonBytes)), idempotency_key: key };
  }
  if (/^multipart\/form-data\b/i.test(type))
    return { ...(await fromForm(request, type)), idempotency_key: key };
  const fields = artifactFields({
    name: query.get('name'),
    type: query.get('type'),
    mime: query.get('mime') ?? (isDefaultType(type, query) ? null : type),
    source_refs: query.has('source_ref') ? query.getAll('source_ref') : undefined,
  });
  return {
    body: request.body,
    size: Number.isNaN(length) ? undefined : length,
    ...fields,
    idempotency_key: key,
  };
}

/** Returns whether the content type is a default of HTTP clients, which says nothing about the content. */
function isDefaultType(type: string, query: URLSearchParams): boolean {
  if (/^application\/x-www-form-urlencoded\b/i.test(type)) return true;
  return query.has('type') && /^application\/octet-stream\b/i.test(type);
}

async function fromJson(request: Request, length: number, maxBytes?: number): Promise<ArtifactInput> {
  if (!(length <= WHOLE_JSON_BYTES)) {
    const { data, fields } = readJsonPush(request.body!, 'content');
    return {
      body:
        maxBytes === undefined
          ? data
          : limitBytes(data, maxBytes, () => tooLarge('an artifact in JSON', maxBytes, RAW_BODY_HINT)),
      late: () => {
        const rest = fields();
        if (rest.encoding === 'base64')
          throw badRequest('The content is too large to be sent as base64.', RAW_BODY_HINT);
        return artifactFields(rest);
      },
    };
  }
  const text = decodeUtf8(new Uint8Array(await request.arrayBuffer()));
  const parsed = text === null ? null : parseJson(text);
  if (!isJsonObject(parsed) || typeof parsed.content !== 'string')
    throw badRequest('The JSON body must be an object with the string "content".');
  const { content, encoding, ...rest } = parsed;
  if (encoding !== undefined && encoding !== 'base64' && encoding !== 'utf8')
    throw badRequest('"encoding" must be "utf8" or "base64".');
  const body = encoding === 'base64' ? fromBase64(content as string) : encodeUtf8(content as string);
  if (!body) throw badRequest('"content" is not valid base64.');
  return { body, ...artifactFields(rest) };
}

async function fromForm(request: Request, type: string): Promise<ArtifactInput> {
  const form = await readForm(request.body!, type);
  const { file } = form;
  if (file) return { body: file.body, ...formFields(form), late: () => formFields(form) };
  const content = form.fields.get('content');
  if (content === undefined) throw badRequest('The form has neither a file nor "content".');
  return { body: encodeUtf8(content), ...formFields(form) };
}

function formFields({ file, fields }: Form): ArtifactFields {
  // Ignore application/octet-stream, which programs send for unknown types, and use the file name.
  const declaredMime = file?.mime && !/^application\/octet-stream/i.test(file.mime) ? file.mime : undefined;
  const refs = fields.get('source_refs');
  return artifactFields({
    name: fields.get('name') ?? file?.name,
    type: fields.get('type'),
    mime: fields.get('mime') ?? declaredMime,
    source_refs: refs ? refs.split(',').map((ref) => ref.trim()) : undefined,
  });
}

/**
 * Picks the known fields and checks their types. An empty field counts as missing. The domain checks the
 * values.
 */
function artifactFields(from: { [name: string]: unknown }): ArtifactFields {
  const { name, type, mime, source_refs } = from as ArtifactFields;
  for (const [field, value] of Object.entries({ name, type, mime })) {
    if (value !== undefined && value !== null && typeof value !== 'string')
      throw badRequest(`"${field}" must be a string.`);
  }
  if (source_refs !== undefined && source_refs !== null && !Array.isArray(source_refs))
    throw badRequest('"source_refs" must be a list of strings.');
  return {
    name: name || undefined,
    type: type || undefined,
    mime: mime || undefined,
    source_refs: source_refs || undefined,
  };
}
