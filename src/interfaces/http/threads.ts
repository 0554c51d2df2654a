import type { Context, Hono } from 'hono';
import { RelayError } from '../../base/errors.ts';
import { BUNDLE_BYTES, SSE_HEARTBEAT_MS } from '../../base/limits.ts';
import { LOCAL_CALLER } from '../../contract/caller.ts';
import type { Relay } from '../../contract/relay.ts';
import type { ThreadEvent } from '../../contract/threads/answers.ts';
import type { Artifact } from '../../contract/threads/artifacts.ts';
import { threads } from '../../contract/threads.ts';
import type { KeyHolds } from '../../domain/keys/holds.ts';
import { artifactInput } from './artifact-request.ts';
import type { RelayOf } from './callers.ts';
import { isOn, queryOf } from './query.ts';
import { parseRange } from './range.ts';
import { notesOf } from './request-notes.ts';
import { bytesResponse, jsonResponse } from './responses.ts';

/** What threads need beyond JSON in and out: contents, bundles, and events as they happen. */
export function threadRoutes(
  api: Hono,
  relayOf: RelayOf,
  stopping: AbortSignal | undefined,
  holds: KeyHolds,
): void {
  api.post('/threads/:id/artifacts', async (c) => {
    const relay = await relayOf(c, threads.putArtifact);
    const input = await artifactInput(c.req.raw, queryOf(c.req.url));
    return jsonResponse(await relay.threads.putArtifact(c.req.param('id'), input), { status: 201 });
  });

  api.get('/threads/:id/artifacts/:ref', async (c) => {
    const relay = await relayOf(c, threads.artifact);
    const query = queryOf(c.req.url);
    if (isOn(query.get('raw'))) return content(relay, c);
    const counted = !query.has('counted') || isOn(query.get('counted'));
    return jsonResponse(await relay.threads.artifact(c.req.param('id'), c.req.param('ref'), { counted }));
  });

  api.get('/threads/:id/artifacts/:ref/content', async (c) => content(await relayOf(c, threads.content), c));

  api.get('/threads/:id/events', async (c) => {
    const relay = await relayOf(c, threads.events);
    const id = c.req.param('id');
    const query = queryOf(c.req.url);
    const live = /\btext\/event-stream\b/.test(c.req.header('accept') ?? '') || isOn(query.get('stream'));
    const after = c.req.header('last-event-id') ?? query.get('after') ?? undefined;
    const limit = query.has('limit') ? pageLimit(query.get('limit')!) : undefined;
    // Read even where a stream follows: what is wrong is to be told before it begins.
    if (!live) return jsonResponse(await relay.threads.events(id, { after, limit }));
    await relay.threads.events(id, { after, limit: 1 });
    const hold = (end: () => void) => holds.hold(notesOf(c)?.caller ?? LOCAL_CALLER, end);
    return eventStream((signal) => relay.threads.watch(id, { after, signal }), stopping, hold);
  });

  api.get('/threads/:id/export', async (c) => {
    const relay = await relayOf(c, threads.export);
    const { body, name } = await relay.threads.export(c.req.param('id'));
    return bytesResponse(body, 200, {
      'Content-Type': 'application/zip',
      'Content-Disposition': `attachment; filename="${name}"`,
      'Cache-Control': 'no-store',
    });
  });

  api.post('/threads/import', async (c) => {
    const relay = await relayOf(c, threads.import);
    const { body } = c.req.raw;
    if (!body) throw new RelayError('empty_payload');
    if (Number(c.req.header('content-length') ?? 0) > BUNDLE_BYTES) {
      throw new RelayError('too_large', { what: 'a bundle', limit: BUNDLE_BYTES });
    }
    return jsonResponse(await relay.threads.import(body), { status: 201 });
  });
}

function pageLimit(text: string): number {
  const limit = Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= 1000) return limit;
  throw new RelayError('bad_request', { what: '"limit" is a whole number from 1 to 1000.' });
}

async function content(relay: Relay, c: Context): Promise<Response> {
  const [id, ref] = [c.req.param('id')!, c.req.param('ref')!];
  const wanted = c.req.header('range');
  // Only a range needs the size ahead.
  const range = wanted
    ? parseRange(wanted, (await relay.threads.artifact(id, ref, { counted: false })).size)
    : null;
  const { artifact, body } = await relay.threads.content(id, ref, range ? { range } : {});
  const { size } = artifact;
  const headers: Record<string, string> = {
    ...contentHeaders(artifact, c.req.header('accept') ?? ''),
    'Content-Length': String(range ? range.end - range.start : size),
    ...(range ? { 'Content-Range': `bytes ${range.start}-${range.end - 1}/${size}` } : {}),
  };
  return bytesResponse(body, range ? 206 : 200, headers);
}

/** Content is somebody's words: whatever it says it is, no browser runs it at our address. */
function contentHeaders(artifact: Artifact, accept: string): Record<string, string> {
  const { hash, ref, type, mime } = artifact;
  const raw = /\bapplication\/octet-stream\b/.test(accept) || type === 'binary';
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

function eventStream(
  watch: (signal: AbortSignal) => AsyncIterable<ThreadEvent>,
  stopping: AbortSignal | undefined,
  hold: (end: () => void) => () => void,
): Response {
  const utf8 = new TextEncoder();
  const gone = new AbortController();
  gone.signal.addEventListener(
    'abort',
    hold(() => gone.abort()),
    { once: true },
  );
  const signal = stopping ? AbortSignal.any([gone.signal, stopping]) : gone.signal;
  const events = watch(signal)[Symbol.asyncIterator]();
  let beating: ReturnType<typeof setInterval> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(utf8.encode('retry: 1000\n\n'));
      beating = setInterval(() => {
        if ((controller.desiredSize ?? 0) > 0) controller.enqueue(utf8.encode(': still here\n\n'));
      }, SSE_HEARTBEAT_MS);
    },
    async pull(controller) {
      const next = await events.next().catch(() => null);
      if (next && !next.done) {
        const { id, type } = next.value;
        controller.enqueue(utf8.encode(`id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(next.value)}\n\n`));
        return;
      }
      clearInterval(beating);
      controller.close();
    },
    cancel() {
      clearInterval(beating);
      gone.abort();
    },
  });
  return new Response(body, {
    headers: {
      'Content-Type': 'text/event-stream; charset=utf-8',
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      'X-Accel-Buffering': 'no',
    },
  });
}
