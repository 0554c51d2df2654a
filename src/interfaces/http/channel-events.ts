import type { Context } from 'hono';
import { RelayError } from '../../base/errors.ts';
import { channels, type Message, type SubscribeOptions } from '../../contract/channels.ts';
import type { Relay } from '../../contract/relay.ts';
import { checkSubscription } from '../../domain/channels/reader.ts';
import type { Serve } from './callers.ts';
import type { HttpDeps } from './deps.ts';
import { liveEvents } from './event-stream.ts';

/** Channels for whoever has no WebSocket: `curl -N`, `EventSource`. A browser resumes by itself with `Last-Event-ID`. */
export function eventRoutes(serve: Serve, deps: HttpDeps): void {
  serve(channels.events, async (relay, c) => {
    const name = c.req.param('name')!;
    // Everything that can be wrong is told before the stream begins, and so is where it begins.
    const asked = checkQuery(c);
    const newest = await relay.channels.position(name);
    const o = asked.group === undefined ? { since: asked.since ?? newest } : asked;
    const follow = (signal: AbortSignal) => relay.channels.subscribe(name, { ...o, signal });
    return liveEvents(c, deps, follow, eventOf, asked.group === undefined ? o.since : undefined);
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
function eventOf({ gap, ...message }: Message): string {
  const notice = gap ? `event: gap\ndata: ${JSON.stringify({ gap: true, next: message.seq })}\n\n` : '';
  return `${notice}id: ${message.seq}\ndata: ${JSON.stringify(message)}\n\n`;
}
