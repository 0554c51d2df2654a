import { RelayError } from '../base/errors.ts';
import { deferred } from '../base/pause.ts';

/** Frames held for a consumer that does not keep up; then the connection is dropped, and resumed once they are read. */
const HELD_FRAMES = 1_000;
/** The relay answers this, so that a connection whose other end has vanished is noticed. */
const ASK_EVERY_MS = 20_000;
const OPEN_WITHIN_MS = 20_000;

/** What brings the messages of a channel, until it ends. */
export interface Connection {
  /** Why it ended. */
  readonly reason: RelayError;
  /** It was ended here, because the consumer was behind. */
  readonly overflowed: boolean;
  /** Text frames in order; ends when the connection does, after whatever had arrived. */
  frames(): AsyncGenerator<string>;
  close(): void;
}

/** A connection over the platform's own WebSocket: the same in browsers, Workers and Node from 22 on. */
export class SocketConnection implements Connection {
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
