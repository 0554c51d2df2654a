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
import { ALWAYS } from './responses.ts';

/** Channels and activity for whoever has no WebSocket: `curl -N`, `EventSource`. A browser resumes by itself with `Last-Event-ID`. */
export function eventRoutes(serve: Serve, deps: HttpDeps): void {
  serve(channels.events, async (relay, c) => {
    const name = c.req.param('name')!;
    // Everything that can be wrong is told before the stream begins, and so is where it begins.
    const asked = checkQuery(c);
    const newest = await relay.channels.position(name);
    const o = asked.group === undefined ? { since: asked.since ?? newest } : asked;
    const follow = (signal: AbortSignal) => relay.channels.subscribe(name, { ...o, signal });
    return liveEvents(c, deps, follow, messageEvent, asked.group === undefined ? o.since : undefined);
  });

  serve(activity.watch, async (relay, c) => {
    const after = c.req.header('last-event-id') ?? c.req.query('after');
    // What is wrong is told before the stream begins, and so is where it begins.
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

  // Where an upgrade is asked for it never comes here; what else would be wrong is told first.
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

/** JSON text has no line ends in it, so it is one line of data. A gap is an event of its own kind. */
function messageEvent({ gap, ...message }: Message): string {
  const notice = gap ? `event: gap\ndata: ${JSON.stringify({ gap: true, next: message.seq })}\n\n` : '';
  return `${notice}id: ${message.seq}\ndata: ${JSON.stringify(message)}\n\n`;
}

/**
 * Events for as long as their reader stays, the server runs, and the key that they were asked for with works. `from` is the id behind which
 * they begin: a reader that was told nothing is told that at the end, so that it comes back to where it was.
 */
export function liveEvents<T>(
  c: Context,
  { stopping, core }: HttpDeps,
  follow: (signal: AbortSignal) => AsyncIterable<T>,
  write: (event: T) => string,
  from?: string | number,
): Response {
  let told = from === undefined;
  const gone = new AbortController();
  const letGo = core.keys.watch.watch(notesOf(c).caller!, () => gone.abort());
  gone.signal.addEventListener('abort', letGo, { once: true });
  notesOf(c).onGone(() => gone.abort());
  return eventResponse(follow(AbortSignal.any([gone.signal, stopping])), {
    write(event) {
      told = true;
      return write(event);
    },
    tail: () => (told ? '' : `id: ${from}\n\n`),
    // Something must be sent for the head of the answer to leave.
    head: 'retry: 1000\n\n',
    headers: { ...EVENT_HEADERS, ...ALWAYS },
    ended: () => gone.abort(),
    signal: gone.signal,
  });
}

/** The same end, with its key or its reader, for a stream that another protocol made: whoever makes it is told as if its reader had gone. */
export function endingWithKey(c: Context, { core }: HttpDeps, response: Response): Response {
  const { body, status, statusText, headers } = response;
  const notes = notesOf(c);
  const { caller } = notes;
  if (!caller || !body || !headers.get('content-type')?.startsWith('text/event-stream')) return response;
  let letGo = () => {};
  const untilKeyEnds = {
    start(controller) {
      letGo = core.keys.watch.watch(caller, () => controller.terminate());
      notes.onGone(() => controller.terminate());
    },
    flush: () => letGo(),
    // Called when the reader leaves and when the source fails; TypeScript does not know of it yet.
    cancel: () => letGo(),
  } as Transformer<Uint8Array, Uint8Array>;
  return new Response(body.pipeThrough(new TransformStream(untilKeyEnds)), { status, statusText, headers });
}
