import { isRelayError } from '../base/errors.ts';
import { jsonObjectIn } from '../base/json.ts';
import { pause } from '../base/pause.ts';
import { channels, type Message, type Since, type SubscribeOptions } from '../contract/channels.ts';
import { lastingClient, openEvents } from './event-stream.ts';
import type { HttpOptions } from './http-client.ts';
import { isPassing } from './http-failure.ts';
import { type Connection, SocketConnection } from './socket-connection.ts';
import { letGo } from './streams.ts';
import { callOf, queryOf, VerbCalls } from './verb-calls.ts';

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 10_000;
/** A connection that held this long was a good one: the next wait begins small again. */
const GOOD_MS = 5_000;

/**
 * Messages of a channel over a connection that is opened again whenever it breaks, behind the last message given.
 * An address where nobody ever answered is an error, not a wait.
 */
export async function* followSocket(
  calls: VerbCalls,
  options: HttpOptions,
  channel: string,
  o: SubscribeOptions,
): AsyncGenerator<Message> {
  const { signal } = o;
  const lasting = new VerbCalls(lastingClient(options, signal));
  // The relay has answered before: then not to reach it now is a lost connection and no wrong address.
  let connected = calls.client.answered;
  const position = () => calls.call<number>(channels.position, { name: channel });
  // A fixed place to resume from, even if the connection breaks before the first message.
  let after: Since | undefined = o.group === undefined ? (o.since ?? (await position())) : o.since;
  let given = 0;
  let wait = FIRST_WAIT_MS;
  let lost = false;
  while (!signal?.aborted) {
    const begun = Date.now();
    let failure: Error;
    try {
      const connection = await open(lasting, options, channel, { ...o, since: after });
      connected = true;
      if (lost) options.onConnection?.(null);
      lost = false;
      try {
        for await (const message of received(connection)) {
          if (o.group === undefined) {
            if (message.seq <= given && !message.gap) continue;
            given = message.seq;
            after = given;
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
    if (!lost) options.onConnection?.(failure);
    lost = true;
    if (Date.now() - begun > GOOD_MS) wait = FIRST_WAIT_MS;
    await pause(wait * (0.5 + Math.random()), signal);
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  }
}

/** A WebSocket, or an event stream where the platform has none. */
async function open(
  calls: VerbCalls,
  { apiKey }: HttpOptions,
  channel: string,
  { since, group, prefetch, signal }: SubscribeOptions,
): Promise<Connection> {
  const { client } = calls;
  const asked = { since, group, prefetch };
  const request = { query: queryOf(asked), doing: 'subscribe' };
  if (typeof WebSocket === 'undefined')
    return openEvents(client, callOf(channels.events, { name: channel }, request));
  const call = callOf(channels.subscribe, { name: channel }, request);
  const ticket = apiKey ? await calls.call<{ ticket: string }>(channels.ticket, {}) : null;
  const query = queryOf({ ...asked, ticket: ticket?.ticket });
  const address = `${client.base.replace(/^http/, 'ws')}${call.path}${query.size > 0 ? `?${query}` : ''}`;
  try {
    return await SocketConnection.open(address, signal);
  } catch (error) {
    if (signal?.aborted) throw error;
    // A browser does not tell why; the same address over HTTP does. 426 means that only the socket was missing.
    const answer = client.run(call, ({ body }) => letGo(body));
    await answer.catch((reason) => {
      if (!isRelayError(reason, 'upgrade_required')) throw reason;
    });
    throw error;
  }
}

/** The messages among the frames. A frame that tells of a gap marks the message behind it. */
async function* received(connection: Connection): AsyncGenerator<Message> {
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
