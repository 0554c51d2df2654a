import { isRelayError } from '../base/errors.ts';
import { jsonObjectIn } from '../base/json.ts';
import { pause } from '../base/pause.ts';
import type { Message, Since, SubscribeOptions } from '../contract/channels.ts';
import { isPassing } from './http-failure.ts';
import { SocketConnection } from './socket-connection.ts';

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 10_000;
/** A connection that held this long was a good one: the next wait begins small again. */
const GOOD_MS = 5_000;

export interface SocketOptions extends SubscribeOptions {
  readonly base: string;
  readonly channel: string;
  /** The relay has answered before, so that not to reach it now is a lost connection and no wrong address. */
  readonly reached?: boolean;
  /** A ticket for one connection; null where the relay asks for no key. */
  ticket(): Promise<string | null>;
  /** The newest sequence of the channel. */
  position(): Promise<number>;
  /** Asks the same address over HTTP, for the reason that a failed socket does not tell. */
  probe(path: string): Promise<void>;
  /** Told when the connection is lost, with the reason, and when it is back, with null. */
  onConnection?: ((lost: Error | null) => void) | undefined;
}

/**
 * Messages of a channel over a WebSocket that is opened again whenever it breaks, behind the last message given.
 * An address where nobody ever answered is an error, not a wait.
 */
export async function* followSocket(o: SocketOptions): AsyncGenerator<Message> {
  const { signal } = o;
  // A fixed place to resume from, even if the connection breaks before the first message.
  let after: Since | undefined = o.group === undefined ? (o.since ?? (await o.position())) : o.since;
  let wait = FIRST_WAIT_MS;
  let connected = o.reached ?? false;
  let lost = false;
  while (!signal?.aborted) {
    const begun = Date.now();
    let failure: Error;
    try {
      const connection = await open(o, after);
      connected = true;
      if (lost) o.onConnection?.(null);
      lost = false;
      try {
        for await (const message of received(connection)) {
          if (o.group === undefined) {
            if (typeof after === 'number' && message.seq <= after && !message.gap) continue;
            after = message.seq;
          }
          yield message;
        }
      } finally {
        connection.close();
      }
      if (signal?.aborted) return;
      if (connection.overflowed) continue;
      failure = connection.reason;
    } catch (error) {
      if (signal?.aborted) return;
      if (!connected) throw error;
      failure = error as Error;
    }
    if (!isPassing(failure) || failure.details.final) throw failure;
    if (!lost) o.onConnection?.(failure);
    lost = true;
    if (Date.now() - begun > GOOD_MS) wait = FIRST_WAIT_MS;
    await pause(wait * (0.5 + Math.random()), signal);
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  }
}

async function open(o: SocketOptions, after: Since | undefined): Promise<SocketConnection> {
  const query = new URLSearchParams();
  if (after !== undefined) query.set('since', String(after));
  if (o.group !== undefined) query.set('group', o.group);
  if (o.prefetch !== undefined) query.set('prefetch', String(o.prefetch));
  const path = `/ws/${encodeURIComponent(o.channel)}`;
  const ticket = await o.ticket();
  const asked = query.size > 0 ? `?${query}` : '';
  if (ticket !== null) query.set('ticket', ticket);
  const search = query.size > 0 ? `?${query}` : '';
  try {
    return await SocketConnection.open(`${o.base.replace(/^http/, 'ws')}${path}${search}`, o.signal);
  } catch (error) {
    if (o.signal?.aborted) throw error;
    // A browser does not tell why; the same address over HTTP does. 426 means that only the socket was missing.
    await o.probe(path + asked).catch((reason) => {
      if (!isRelayError(reason, 'upgrade_required')) throw reason;
    });
    throw error;
  }
}

/** The messages among the frames. A frame that tells of a gap marks the message behind it. */
async function* received(connection: SocketConnection): AsyncGenerator<Message> {
  let gap = false;
  for await (const text of connection.frames()) {
    const frame = jsonObjectIn(text);
    if (frame === null) continue;
    if (frame.gap === true && frame.seq === undefined) {
      gap = true;
      continue;
    }
    if (typeof frame.seq !== 'number' || typeof frame.ts !== 'number') continue;
    const message = frame as unknown as Message;
    yield gap ? { ...message, gap: true } : message;
    gap = false;
  }
}
