import type { Context } from 'hono';
import { RelayError } from '../../base/errors.ts';
import { BUNDLE_BYTES } from '../../base/limits.ts';
import type { Relay } from '../../contract/relay.ts';
import type { ThreadEvent } from '../../contract/threads/answers.ts';
import type { Artifact } from '../../contract/threads/artifacts.ts';
import { threads } from '../../contract/threads.ts';
import { kindOf } from '../../domain/threads/artifact-kind.ts';
import { artifactInput } from './artifact-request.ts';
import type { Serve } from './callers.ts';
import type { HttpDeps } from './deps.ts';
import { liveEvents } from './event-stream.ts';
import { isOn, parseRange } from './request-fields.ts';
import { bytesResponse, jsonResponse } from './responses.ts';

/** What threads need beyond JSON in and out: contents, bundles, and events as they happen. */
export function threadRoutes(serve: Serve, deps: HttpDeps): void {
  serve(threads.putArtifact, async (relay, c) => {
    const input = await artifactInput(c.req.raw, new URL(c.req.url).searchParams, deps.jsonArtifactBytes);
    return jsonResponse(await relay.threads.putArtifact(c.req.param('thread_id')!, input), { status: 201 });
  });

  serve(threads.artifact, async (relay, c) => {
    const query = c.req.query();
    if (isOn(query, 'raw')) return content(relay, c);
    const [id, ref] = [c.req.param('thread_id')!, c.req.param('ref')!];
    return jsonResponse(await relay.threads.artifact(id, ref, { counted: isCounted(c) }));
  });

  serve(threads.content, (relay, c) => {
    // So it was in the Go relay: whole contents are for those who mean it.
    if (c.req.header('accept') === undefined) throw new RelayError('not_acceptable');
    return content(relay, c);
  });

  serve(threads.events, async (relay, c) => {
    const id = c.req.param('thread_id')!;
    const query = c.req.query();
    const live = /\btext\/event-stream\b/.test(c.req.header('accept') ?? '') || isOn(query, 'stream');
    const after = c.req.header('last-event-id') ?? query.after;
    const limit = query.limit === undefined ? undefined : pageLimit(query.limit);
    // Read even where a stream follows, so that what is wrong is answered before it begins.
    if (!live) return jsonResponse(await relay.threads.events(id, { after, limit }));
    await relay.threads.events(id, { after, limit: 1 });
    return liveEvents(c, deps, (signal) => relay.threads.watch(id, { after, signal }), eventOf);
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
    if (Number(c.req.header('content-length') ?? 0) > BUNDLE_BYTES) {
      throw new RelayError('too_large', { what: 'a bundle', limit: BUNDLE_BYTES });
    }
    return jsonResponse(await relay.threads.import(body), { status: 201 });
  });
}

function eventOf(event: ThreadEvent): string {
  return `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

function pageLimit(text: string): number {
  const limit = Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= 1000) return limit;
  throw new RelayError('bad_request', { what: '"limit" is a whole number from 1 to 1000.' });
}

function isCounted(c: Context): boolean {
  const query = c.req.query();
  return c.req.method !== 'HEAD' && (query.counted === undefined || isOn(query, 'counted'));
}

async function content(relay: Relay, c: Context): Promise<Response> {
  const [id, ref] = [c.req.param('thread_id')!, c.req.param('ref')!];
  const wanted = c.req.header('range');
  // Only a range needs the size ahead.
  const range = wanted
    ? parseRange(wanted, (await relay.threads.artifact(id, ref, { counted: false })).size)
    : null;
  const { artifact, body } =
    c.req.method === 'HEAD'
      ? { artifact: await relay.threads.artifact(id, ref, { counted: false }), body: null }
      : await relay.threads.content(id, ref, { counted: isCounted(c), ...(range ? { range } : {}) });
  const { size } = artifact;
  const headers: Record<string, string> = {
    ...contentHeaders(artifact, c.req.header('accept') ?? ''),
    'Content-Length': String(range ? range.end - range.start : size),
    ...(range ? { 'Content-Range': `bytes ${range.start}-${range.end - 1}/${size}` } : {}),
  };
  return bytesResponse(body, range ? 206 : 200, headers);
}

/** Content comes from others: whatever type it claims, no browser may run it at our address. */
function contentHeaders(artifact: Artifact, accept: string): Record<string, string> {
  const { hash, ref, type, mime } = artifact;
  const raw = /\bapplication\/octet-stream\b/.test(accept) || kindOf(artifact) === 'binary';
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
