import type { Context } from 'hono';
import { RelayError } from '../../base/errors.ts';
import { activity } from '../../contract/activity.ts';
import { channels, type Message, type SubscribeOptions } from '../../contract/channels.ts';
import type { Relay } from '../../contract/relay.ts';
import { checkSubscription } from '../../domain/channels/reader.ts';
import { EVENT_HEADERS, eventResponse } from '../event-response.ts';
import type { Serve } from './callers.ts';
import type { HttpDeps } from './deps.ts';
import { notesOf } from './request-watch.ts';
import { SECURITY_HEADERS } from './responses.ts';

/** Channels and activity as server-sent events, for `curl -N` and `EventSource`. Browsers resume with `Last-Event-ID`. */
export function eventRoutes(serve: Serve, deps: HttpDeps): void {
  serve(channels.events, async (relay, c) => {
    const name = c.req.param('name')!;
    // Check the query and find the start position now: errors must be answered before the stream begins.
    const options = checkQuery(c);
    const newest = await relay.channels.position(name);
    const o = options.group === undefined ? { since: options.since ?? newest } : options;
    const follow = (signal: AbortSignal) => relay.channels.subscribe(name, { ...o, signal });
    return liveEvents(c, deps, follow, serializeMessage, options.group === undefined ? o.since : undefined);
  });

  serve(activity.watch, async (relay, c) => {
    const after = c.req.header('last-event-id') ?? c.req.query('after');
    // Check `after` and find the start position now: errors must be answered before the stream begins.
    const { newest } = await relay.activity.list({ after, limit: 1 });
    const from = after ?? newest;
    return liveEvents(
      c,
      deps,
      (signal) => relay.activity.watch({ after: from, signal }),
      (entry) => `id: ${entry.id}\ndata: ${JSON.stringify(entry)}\n\n`,
      from,
    );
  });

  // WebSocket upgrades do not reach this handler. For other requests, report a bad query before the missing upgrade.
  const upgrade = async (_relay: Relay, c: Context): Promise<Response> => {
    checkQuery(c);
    throw new RelayError('upgrade_required');
  };
  serve(channels.subscribe, upgrade, ['/ws', '/ws/*']);
}

function checkQuery(c: Context): SubscribeOptions {
  const query = c.req.query();
  return checkSubscription({ ...query, since: c.req.header('last-event-id') ?? query.since });
}

/** Serializes a message. JSON has no line breaks, so one `data` line suffices. A gap becomes an event of type `gap`. */
function serializeMessage({ gap, ...message }: Message): string {
  const notice = gap ? `event: gap\ndata: ${JSON.stringify({ gap: true, next: message.seq })}\n\n` : '';
  return `${notice}id: ${message.seq}\ndata: ${JSON.stringify(message)}\n\n`;
}

/**
 * Streams events until the client disconnects, the server stops, or the caller's key is revoked. `from` is the id after
 * which the stream begins. If no event was sent, `from` is sent at the end, so that the client resumes from there.
 */
export function liveEvents<T>(
  c: Context,
  { stopping, core }: HttpDeps,
  follow: (signal: AbortSignal) => AsyncIterable<T>,
  write: (event: T) => string,
  from?: string | number,
): Response {
  let hasSent = from === undefined;
  const closed = new AbortController();
  const unwatch = core.keys.watch.watch(notesOf(c).caller!, () => closed.abort());
  closed.signal.addEventListener('abort', unwatch, { once: true });
  notesOf(c).onGone(() => closed.abort());
  return eventResponse(follow(AbortSignal.any([closed.signal, stopping])), {
    write(event) {
      hasSent = true;
      return write(event);
    },
    tail: () => (hasSent ? '' : `id: ${from}\n\n`),
    // Some runtimes send the response headers only with the first body bytes.
    head: 'retry: 1000\n\n',
    headers: { ...EVENT_HEADERS, ...SECURITY_HEADERS },
    ended: () => closed.abort(),
    signal: closed.signal,
  });
}

/** Ends another protocol's event stream when the caller's key is revoked or the client disconnects. */
export function endOnRevocation(c: Context, { core }: HttpDeps, response: Response): Response {
  const { body, status, statusText, headers } = response;
  const notes = notesOf(c);
  const { caller } = notes;
  if (!caller || !body || !headers.get('content-type')?.startsWith('text/event-stream')) return response;
  let unwatch = () => {};
  const untilKeyEnds = {
    start(controller) {
      unwatch = core.keys.watch.watch(caller, () => controller.terminate());
      notes.onGone(() => controller.terminate());
    },
    flush: () => unwatch(),
    // Called when the reader leaves or the source fails. Missing from TypeScript's types.
    cancel: () => unwatch(),
  } as Transformer<Uint8Array, Uint8Array>;
  return new Response(body.pipeThrough(new TransformStream(untilKeyEnds)), { status, statusText, headers });
}
