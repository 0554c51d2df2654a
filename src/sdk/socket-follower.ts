import { isRelayError, RelayError } from '../base/errors.ts';
import { jsonObjectIn } from '../base/json.ts';
import { deferred, pause } from '../base/pause.ts';
import { channels, type Message, type Since, type SubscribeOptions } from '../contract/channels.ts';
import { eventData, lastingClient } from './event-stream.ts';
import { type HttpCall, type HttpClient, type HttpOptions, isPassing } from './http-client.ts';
import { letGo } from './payload.ts';
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

/** A connection over an event stream, for platforms without a WebSocket, such as Node 20. The client's signal closes it. */
async function openEvents(client: HttpClient, call: HttpCall): Promise<Connection> {
  const body = await client.run(call, async (answer) => answer.body);
  const connection = {
    reason: new RelayError('unreachable', { what: client.base }),
    // The relay sends no more than is read.
    overflowed: false,
    async *frames() {
      try {
        if (body) yield* eventData(body);
      } catch (error) {
        connection.reason = error as RelayError;
      }
    },
    // Whoever stops reading the frames has let go of the stream.
    close() {},
  };
  return connection;
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

/** Frames held for a consumer that does not keep up; then the connection is dropped, and resumed once they are read. */
const HELD_FRAMES = 1_000;
/** The relay answers this, so that a connection whose other end has vanished is noticed. */
const ASK_EVERY_MS = 20_000;
const OPEN_WITHIN_MS = 20_000;

/** What brings the messages of a channel, until it ends. */
interface Connection {
  /** Why it ended. */
  readonly reason: RelayError;
  /** It was ended here, because the consumer was behind. */
  readonly overflowed: boolean;
  /** Text frames in order; ends when the connection does, after whatever had arrived. */
  frames(): AsyncGenerator<string>;
  close(): void;
}

/** A connection over the platform's own WebSocket: the same in browsers, Workers and Node from 22 on. */
class SocketConnection implements Connection {
  reason: RelayError;
  overflowed = false;
  readonly #socket: WebSocket;
  readonly #opened = deferred<void>();
  readonly #held: string[] = [];
  #wake = () => {};
  /** Takes the listener off the signal. */
  #letGo = () => {};
  #ended = false;
  #heard = true;
  /** First until it is open, then for each time that the relay is asked whether it is there. */
  #timer: ReturnType<typeof setTimeout>;

  /** Resolves once it is open. The signal closes it. */
  static async open(url: string, signal: AbortSignal | undefined): Promise<SocketConnection> {
    const connection = new SocketConnection(url);
    const close = () => connection.close();
    signal?.addEventListener('abort', close);
    if (signal?.aborted) close();
    connection.#letGo = () => signal?.removeEventListener('abort', close);
    await connection.#opened.promise;
    return connection;
  }

  private constructor(url: string) {
    const { host } = new URL(url);
    const socket = new WebSocket(url);
    this.#socket = socket;
    this.reason = new RelayError('unreachable', { what: host });
    this.#timer = setTimeout(() => this.close(), OPEN_WITHIN_MS);
    socket.addEventListener('open', () => {
      clearTimeout(this.#timer);
      if (!this.#ended) this.#timer = setInterval(() => this.#ask(), ASK_EVERY_MS);
      this.#opened.resolve();
    });
    socket.addEventListener('close', ({ code, reason }) => {
      if (!this.#ended) this.reason = closed(code, reason, host);
      this.close();
    });
    // Where a relay cannot be reached, Node 22 says no more than this; everywhere else `close` comes behind it.
    socket.addEventListener('error', () => this.close());
    socket.addEventListener('message', ({ data }) => this.#take(data));
  }

  async *frames(): AsyncGenerator<string> {
    for (;;) {
      const next = this.#held.shift();
      if (next !== undefined) yield next;
      else if (this.#ended) return;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }

  close(): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#letGo();
    this.#opened.reject(this.reason);
    this.#wake();
    this.#socket.close();
  }

  #take(data: unknown): void {
    this.#heard = true;
    if (this.#ended || typeof data !== 'string') return;
    this.#held.push(data);
    this.#wake();
    if (this.#held.length < HELD_FRAMES) return;
    this.overflowed = true;
    this.close();
  }

  /** Whoever was asked last time and has not said a word since is gone. */
  #ask(): void {
    if (!this.#heard) this.close();
    else if (this.#socket.readyState === this.#socket.OPEN) this.#socket.send('{"ping":1}');
    this.#heard = false;
  }
}

/** 1008 is the relay's word for "never"; anything else may be better next time. */
function closed(code: number, reason: string, host: string): RelayError {
  if (code === 1008)
    return new RelayError('forbidden', { what: reason || `${host} refused the connection.` });
  return new RelayError('unreachable', {
    what: host,
    ...(reason ? { hint: `It closed the connection: ${reason}` } : {}),
  });
}
