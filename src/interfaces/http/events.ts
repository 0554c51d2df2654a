import type { Context } from 'hono';
import { RelayError } from '../../base/errors.ts';
import { percentDecoded } from '../../base/utf8.ts';
import { activity } from '../../contract/activity.ts';
import { channels, type Message, type SubscribeOptions } from '../../contract/channels.ts';
import type { Relay } from '../../contract/relay.ts';
import { checkSubscription } from '../../domain/channels/reader.ts';
import { checkChannelName } from '../../domain/names.ts';
import { EVENT_HEADERS, eventResponse } from '../event-response.ts';
import type { Serve } from './callers.ts';
import type { HttpDeps } from './deps.ts';
import { notesOf } from './request-watch.ts';
import { SECURITY_HEADERS } from './responses.ts';

/**
 * Serves channels and activity as server-sent events, for `curl -N` and `EventSource`. Browsers resume with
 * the header `Last-Event-ID`.
 */
export function eventRoutes(serve: Serve, deps: HttpDeps): void {
  serve(channels.events, async (relay, c) => {
    const name = c.req.param('name')!;
    // Check the query and find the start position first: once the stream begins, it cannot become an error
    // response.
    const options = checkQuery(c);
    const { core } = deps;
    const caller = notesOf(c).caller!;
    const isPattern = await core.channels.isPattern(caller, checkChannelName(name), options);
    const newest = isPattern ? core.deps.env.now() : await relay.channels.position(name);
    const o = options.group === undefined ? { since: options.since ?? newest } : options;
    const follow = (signal: AbortSignal) => relay.channels.subscribe(name, { ...o, signal });
    return liveEvents(c, deps, follow, serializeMessage, options.group === undefined ? o.since : undefined);
  });

  serve(activity.watch, async (relay, c) => {
    const after = c.req.header('last-event-id') ?? c.req.query('after');
    // Check `after` and find the start position first: once the stream begins, it cannot become an error
    // response.
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

  // WebSocket upgrades do not reach this handler, so answer that the request must be an upgrade. Report a wrong query
  // first.
  const upgrade = async (_relay: Relay, c: Context): Promise<Response> => {
    const options = checkQuery(c);
    const name = percentDecoded(c.req.path.replace(/^(?:\/v1)?\/ws\/?/, ''));
    if (name) await deps.core.channels.isPattern(notesOf(c).caller!, name, options);
    throw new RelayError('upgrade_required');
  };
  serve(channels.subscribe, upgrade, ['/ws', '/ws/*']);
}

function checkQuery(c: Context): SubscribeOptions {
  const query = c.req.query();
  return checkSubscription({ ...query, since: c.req.header('last-event-id') ?? query.since });
}

/**
 * Serializes a message. JSON text has no line breaks, so one `data` line is enough. A gap becomes an event of
 * type `gap` before the message.
 */
function serializeMessage({ gap, ...message }: Message): string {
  const notice = gap ? `event: gap\ndata: ${JSON.stringify({ gap: true, next: message.seq })}\n\n` : '';
  // With wildcards, messages of several channels arrive, each with its own sequence numbers. Clients then
  // resume by time and may get the last message twice.
  const id = message.channel === undefined ? message.seq : message.ts;
  return `${notice}id: ${id}\ndata: ${JSON.stringify(message)}\n\n`;
}

/**
 * Streams the events after the id `from`, until the client disconnects, the server stops or the caller's API key is
 * revoked. If the stream ends without any event, it sends the id `from`, so that the client can resume there.
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
    // Some runtimes send the headers only with the first bytes of the body, so send a line immediately.
    head: 'retry: 1000\n\n',
    headers: { ...EVENT_HEADERS, ...SECURITY_HEADERS },
    ended: () => closed.abort(),
    signal: closed.signal,
  });
}

/**
 * Ends an event stream of another protocol when the caller's API key is revoked or the client disconnects.
 */
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
    // Called when the client disconnects or the source fails. TypeScript's types lack `cancel`.
    cancel: () => unwatch(),
  } as Transformer<Uint8Array, Uint8Array>;
  return new Response(body.pipeThrough(new TransformStream(untilKeyEnds)), { status, statusText, headers });
}
