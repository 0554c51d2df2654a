import { isRelayError, RelayError } from '../base/errors.ts';
import { jsonObjectIn } from '../base/json.ts';
import { deferred, pause } from '../base/pause.ts';
import {
  channels,
  isPattern,
  type Message,
  type Since,
  type SubscribeOptions,
} from '../contract/channels.ts';
import { eventData, streamClient } from './event-stream.ts';
import { canReconnect, type HttpCall, type HttpClient, type HttpOptions } from './http-client.ts';
import { discardBody } from './payload.ts';
import { buildCall, toQuery, VerbCalls } from './verb-calls.ts';

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 10_000;
/**
 * A connection that lasted longer than this many ms was stable. After its loss, the first pause before
 * reconnecting is short again.
 */
const STABLE_MS = 5_000;

/**
 * A subscription with wildcards resumes this many ms before its last message, because the clocks of several
 * servers differ. Messages that arrive a second time are skipped.
 */
const RESUME_MS = 5_000;

/**
 * Yields the messages of a channel. After a lost connection, reconnects and continues after the last message.
 * But if the relay has never answered, throws, because its address is probably wrong.
 */
export async function* followSocket(
  calls: VerbCalls,
  options: HttpOptions,
  channel: string,
  subscribeOptions: SubscribeOptions,
): AsyncGenerator<Message> {
  const { signal } = subscribeOptions;
  const streamCalls = new VerbCalls(streamClient(options, signal));
  // True if the relay has answered before. Then its address is right, and a failure means a lost connection.
  let connected = calls.client.answered;
  const wildcards = isPattern(channel);
  const position = () => calls.call<number>(channels.position, { name: channel });
  // Fix the start position before connecting, so that no message is lost if the connection breaks before the
  // first message.
  let after: Since | undefined =
    subscribeOptions.group === undefined && !wildcards
      ? (subscribeOptions.since ?? (await position()))
      : subscribeOptions.since;
  // Last sequence number of each channel. With wildcards, a lost connection resumes by time, and these
  // numbers show which messages already arrived.
  const lastSeqs = new Map<string, number>();
  let wait = FIRST_WAIT_MS;
  let isLost = false;
  while (!signal?.aborted) {
    const begun = Date.now();
    let failure: Error;
    try {
      const connection = await openConnection(streamCalls, options, channel, {
        ...subscribeOptions,
        since: after,
      });
      connected = true;
      if (wildcards) after ??= Date.now() - RESUME_MS;
      if (isLost) options.onConnection?.(null);
      isLost = false;
      try {
        for await (const message of parseMessages(connection)) {
          if (subscribeOptions.group === undefined) {
            const name = message.channel ?? '';
            if (message.seq <= (lastSeqs.get(name) ?? 0) && !message.gap) continue;
            lastSeqs.set(name, message.seq);
            after = name === '' ? message.seq : Math.max(message.ts - RESUME_MS, 0);
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
    if (!canReconnect(failure) || failure.details.final) throw failure;
    if (!isLost) options.onConnection?.(failure);
    isLost = true;
    if (Date.now() - begun > STABLE_MS) wait = FIRST_WAIT_MS;
    await pause(wait * (0.5 + Math.random()), signal);
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  }
}

/** Opens a WebSocket, or an event stream if the platform has no WebSocket. */
async function openConnection(
  calls: VerbCalls,
  { apiKey, agent }: HttpOptions,
  channel: string,
  { since, group, prefetch, signal }: SubscribeOptions,
): Promise<Connection> {
  const { client } = calls;
  const position = { since, group, prefetch };
  const request = { query: toQuery(position), doing: 'subscribe' };
  if (typeof WebSocket === 'undefined')
    return openEvents(client, buildCall(channels.events, { name: channel }, request));
  const call = buildCall(channels.subscribe, { name: channel }, request);
  const ticket = apiKey ? await calls.call<{ ticket: string }>(channels.ticket, {}) : null;
  const query = toQuery({ ...position, ticket: ticket?.ticket, agent });
  const address = `${client.base.replace(/^http/, 'ws')}${call.path}${query.size > 0 ? `?${query}` : ''}`;
  try {
    return await SocketConnection.open(address, signal);
  } catch (error) {
    if (signal?.aborted) throw error;
    // A browser hides why a WebSocket failed. So send a plain HTTP request to the URL to get a better error.
    // Status 426 (upgrade required) means that the URL works; then throw the original error.
    const answer = client.run(call, ({ body }) => discardBody(body));
    await answer.catch((reason) => {
      if (!isRelayError(reason, 'upgrade_required')) throw reason;
    });
    throw error;
  }
}

/** Opens an event stream, for platforms without WebSocket such as Node 20. The client's signal closes it. */
async function openEvents(client: HttpClient, call: HttpCall): Promise<Connection> {
  const body = await client.run(call, async (answer) => answer.body);
  const connection = {
    reason: new RelayError('unreachable', { what: client.base }),
    // This is always false, because HTTP has backpressure: the relay sends only as fast as the consumer
    // reads.
    overflowed: false,
    async *frames() {
      try {
        if (body) yield* eventData(body);
      } catch (error) {
        connection.reason = error as RelayError;
      }
    },
    // Nothing to do: when the consumer stops reading `frames`, the stream is cancelled.
    close() {},
  };
  return connection;
}

/**
 * Parses frames into messages. If a frame reports that messages were lost, sets `gap` on the next message.
 */
async function* parseMessages(connection: Connection): AsyncGenerator<Message> {
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

/**
 * Maximum number of buffered frames. If a slow consumer lets the buffer fill up, the socket is closed. After
 * the consumer has read the buffer, the socket is opened again.
 */
const MAX_BUFFERED_FRAMES = 1_000;
/** Interval in ms between pings. The relay answers each ping, so a dead connection is noticed. */
const PING_MS = 20_000;
const OPEN_WITHIN_MS = 20_000;

/** An open connection that delivers the frames of a channel. */
interface Connection {
  /** Error with which the connection ended. */
  readonly reason: RelayError;
  /** True if this client closed the connection because the consumer was too slow. */
  readonly overflowed: boolean;
  /** Yields text frames in order. After the connection has closed, ends with the last received frame. */
  frames(): AsyncGenerator<string>;
  close(): void;
}

/** A connection over the global WebSocket of browsers, Workers and Node 22 or later. */
class SocketConnection implements Connection {
  reason: RelayError;
  overflowed = false;
  readonly #socket: WebSocket;
  readonly #opened = deferred<void>();
  readonly #buffer: string[] = [];
  #wake = () => {};
  /** Removes the abort listener from the signal. */
  #removeListener = () => {};
  #ended = false;
  #receivedSincePing = true;
  /** Timer: until the socket is open, for the timeout; afterwards, for the next ping. */
  #timer: ReturnType<typeof setTimeout>;

  /** Opens a socket. The signal closes it. */
  static async open(url: string, signal: AbortSignal | undefined): Promise<SocketConnection> {
    const connection = new SocketConnection(url);
    const close = () => connection.close();
    signal?.addEventListener('abort', close);
    if (signal?.aborted) close();
    connection.#removeListener = () => signal?.removeEventListener('abort', close);
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
      if (!this.#ended) this.#timer = setInterval(() => this.#ping(), PING_MS);
      this.#opened.resolve();
    });
    socket.addEventListener('close', ({ code, reason }) => {
      if (!this.#ended) this.reason = closeError(code, reason, host);
      this.close();
    });
    // If the relay is unreachable, Node 22 emits only `error` and no `close`. So close the connection here
    // too.
    socket.addEventListener('error', () => this.close());
    socket.addEventListener('message', ({ data }) => this.#receive(data));
  }

  async *frames(): AsyncGenerator<string> {
    for (;;) {
      const next = this.#buffer.shift();
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
    this.#removeListener();
    this.#opened.reject(this.reason);
    this.#wake();
    this.#socket.close();
  }

  #receive(data: unknown): void {
    this.#receivedSincePing = true;
    if (this.#ended || typeof data !== 'string') return;
    this.#buffer.push(data);
    this.#wake();
    if (this.#buffer.length < MAX_BUFFERED_FRAMES) return;
    this.overflowed = true;
    this.close();
  }

  /** Sends a ping. Closes the connection if nothing arrived since the last ping. */
  #ping(): void {
    if (!this.#receivedSincePing) this.close();
    else if (this.#socket.readyState === this.#socket.OPEN) this.#socket.send('{"ping":1}');
    this.#receivedSincePing = false;
  }
}

/**
 * Converts a close code to an error. 1008 means that the relay refuses the connection permanently. After any other
 * code, the client may reconnect.
 */
function closeError(code: number, reason: string, host: string): RelayError {
  if (code === 1008)
    return new RelayError('forbidden', { what: reason || `${host} refused the connection.` });
  return new RelayError('unreachable', {
    what: host,
    ...(reason ? { hint: `The relay closed the connection: ${reason}` } : {}),
  });
}
