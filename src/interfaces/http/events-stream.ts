import type { Context, Hono } from 'hono';
import { RelayError } from '../../base/errors.ts';
import { SSE_HEARTBEAT_MS } from '../../base/limits.ts';
import { channels, type Message, type SubscribeOptions } from '../../contract/channels.ts';
import type { Relay } from '../../contract/relay.ts';
import { checkPrefetch } from '../../domain/channels/groups.ts';
import { parseSince } from '../../domain/channels/start.ts';
import type { KeyHolds } from '../../domain/keys/holds.ts';
import { checkGroupName } from '../../domain/names.ts';
import type { RelayOf } from './callers.ts';
import { notesOf } from './request-notes.ts';

/** Channels for whoever has no WebSocket: `curl -N`, `EventSource`. A browser resumes by itself with `Last-Event-ID`. */
export function eventRoutes(
  api: Hono,
  relayOf: RelayOf,
  stopping: AbortSignal | undefined,
  holds: KeyHolds,
): void {
  api.get('/channels/:name/events', async (c) => {
    const relay = await relayOf(c, channels.events);
    const name = c.req.param('name');
    const o = await subscriptionOf(relay, name, c);
    const gone = new AbortController();
    const caller = notesOf(c)?.caller;
    if (caller) {
      const letGo = holds.hold(caller, () => gone.abort());
      gone.signal.addEventListener('abort', letGo, { once: true });
    }
    const signal = stopping ? AbortSignal.any([gone.signal, stopping]) : gone.signal;
    const messages = relay.channels.subscribe(name, { ...o, signal });
    return new Response(eventStream(messages, gone), {
      headers: {
        'Content-Type': 'text/event-stream; charset=utf-8',
        'Cache-Control': 'no-store',
        'X-Content-Type-Options': 'nosniff',
        // Some proxies would hold a stream back until it ends.
        'X-Accel-Buffering': 'no',
      },
    });
  });

  /** Where an upgrade is asked for it never comes here; what else would be wrong is told first. */
  const upgrade = async (c: Context): Promise<Response> => {
    await relayOf(c, channels.subscribe);
    checkQuery(c);
    throw new RelayError('upgrade_required');
  };
  api.get('/ws', upgrade);
  api.get('/ws/*', upgrade);
}

/** Everything that can be wrong is told before the stream begins, and so is where it begins. */
async function subscriptionOf(relay: Relay, name: string, c: Context): Promise<SubscribeOptions> {
  const o = checkQuery(c);
  const newest = await relay.channels.position(name);
  return o.group === undefined ? { since: o.since ?? newest } : o;
}

function checkQuery(c: Context): SubscribeOptions {
  const { group, prefetch, ...query } = c.req.query();
  const since = c.req.header('last-event-id') ?? query.since;
  parseSince(since);
  return {
    since,
    group: group === undefined ? undefined : checkGroupName(group),
    prefetch: prefetch === undefined ? undefined : checkPrefetch(Number(prefetch)),
  };
}

function eventStream(messages: AsyncIterable<Message>, gone: AbortController): ReadableStream<Uint8Array> {
  const utf8 = new TextEncoder();
  const iterator = messages[Symbol.asyncIterator]();
  let beating: ReturnType<typeof setInterval> | undefined;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      // Something must be sent for the head of the answer to leave.
      controller.enqueue(utf8.encode('retry: 1000\n\n'));
      beating = setInterval(() => {
        if ((controller.desiredSize ?? 0) > 0) controller.enqueue(utf8.encode(': still here\n\n'));
      }, SSE_HEARTBEAT_MS);
    },
    async pull(controller) {
      try {
        const { done, value } = await iterator.next();
        if (!done) controller.enqueue(utf8.encode(eventOf(value)));
        else end(beating, controller);
      } catch {
        // The reader comes back by itself, with the last message it has seen.
        end(beating, controller);
      }
    },
    cancel() {
      clearInterval(beating);
      gone.abort();
    },
  });
}

function end(
  beating: ReturnType<typeof setInterval> | undefined,
  controller: ReadableStreamDefaultController,
): void {
  clearInterval(beating);
  controller.close();
}

/** JSON text has no line ends in it, so it is one line of data. A gap is an event of its own kind. */
function eventOf({ gap, ...message }: Message): string {
  const notice = gap ? `event: gap\ndata: ${JSON.stringify({ gap: true, next: message.seq })}\n\n` : '';
  return `${notice}id: ${message.seq}\ndata: ${JSON.stringify(message)}\n\n`;
}
