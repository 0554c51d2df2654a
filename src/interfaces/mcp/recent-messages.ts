import type { Message } from '../../contract/channels.ts';
import type { ContextRelay } from '../../sdk/context-relay.ts';

interface Asked {
  /** The first ones behind it; the newest where absent. */
  readonly since?: number;
  readonly limit: number;
  readonly signal: AbortSignal;
}

/** Messages that have grown too old are never shown; after so long without one there is none to come. */
const QUIET_MS = 2_000;

/** What a channel holds now, without waiting for more. */
export async function recentMessages(client: ContextRelay, channel: string, o: Asked): Promise<Message[]> {
  const last = await client.channels.position(channel);
  if (o.since !== undefined) return last <= o.since ? [] : between(client, channel, o.since, last, o);
  // Sequences may have holes, so the look back grows until there is enough or nothing left.
  for (let back = o.limit; last > 0; back *= 16) {
    const since = Math.max(0, last - back);
    const found = await between(client, channel, since, last, { ...o, limit: Number.POSITIVE_INFINITY });
    if (found.length >= o.limit || since === 0) return found.slice(-o.limit);
  }
  return [];
}

/** A channel is only ever followed, so this follows it as far as it goes at the moment. */
async function between(
  client: ContextRelay,
  channel: string,
  since: number,
  last: number,
  { limit, signal }: Asked,
): Promise<Message[]> {
  const quiet = new AbortController();
  const waiting = () => setTimeout(() => quiet.abort(), QUIET_MS);
  let timer = waiting();
  const found: Message[] = [];
  const until = AbortSignal.any([quiet.signal, signal]);
  try {
    for await (const message of client.channels.subscribe(channel, { since, signal: until })) {
      clearTimeout(timer);
      found.push(message);
      if (message.seq >= last || found.length >= limit) break;
      timer = waiting();
    }
  } finally {
    clearTimeout(timer);
    quiet.abort();
  }
  signal.throwIfAborted();
  return found;
}
