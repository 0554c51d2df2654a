import { RelayError } from '../base/errors.ts';

/** Frames held for a consumer that does not keep up; then the connection is dropped, and resumed once they are read. */
const HELD_FRAMES = 1_000;
/** The relay answers this, so that a connection whose other end has vanished is noticed. */
const ASK_EVERY_MS = 20_000;
const OPEN_WITHIN_MS = 20_000;

export interface Connection {
  /** Text frames in order; ends when the connection does, after whatever had arrived. */
  readonly frames: AsyncIterable<string>;
  /** Why it ended. */
  readonly reason: RelayError;
  /** It was ended here, because the consumer was behind. */
  readonly overflowed: boolean;
  close(): void;
}

/** Resolves once it is open. Over the platform's own WebSocket: the same in browsers, Workers and Node. */
export async function connectSocket(url: string, signal: AbortSignal | undefined): Promise<Connection> {
  if (typeof WebSocket === 'undefined') {
    throw new RelayError('failed', {
      what: 'There is no WebSocket in this runtime.',
      hint: 'Use Node 22 or newer, a browser or a Worker.',
    });
  }
  const socket = new WebSocket(url);
  const connection = new SocketConnection(socket, new URL(url).host);
  const stop = () => connection.close();
  signal?.addEventListener('abort', stop);
  if (signal?.aborted) stop();
  socket.addEventListener('close', () => signal?.removeEventListener('abort', stop));
  await connection.opened;
  return connection;
}

class SocketConnection implements Connection {
  readonly opened: Promise<void>;
  reason: RelayError;
  overflowed = false;
  readonly #socket: WebSocket;
  readonly #held: string[] = [];
  #wake = () => {};
  #ended = false;
  #heard = true;
  #asking: ReturnType<typeof setInterval> | undefined;

  constructor(socket: WebSocket, host: string) {
    this.#socket = socket;
    this.reason = new RelayError('unreachable', { what: host });
    this.opened = new Promise((resolve, reject) => {
      const late = setTimeout(() => this.#end(), OPEN_WITHIN_MS);
      socket.addEventListener('open', () => {
        clearTimeout(late);
        this.#asking = setInterval(() => this.#ask(), ASK_EVERY_MS);
        resolve();
      });
      socket.addEventListener('close', ({ code, reason }) => {
        clearTimeout(late);
        this.reason = closed(code, reason, host);
        this.#end();
        reject(this.reason);
      });
    });
    this.opened.catch(() => {});
    socket.addEventListener('error', () => {});
    socket.addEventListener('message', ({ data }) => this.#take(data));
  }

  get frames(): AsyncIterable<string> {
    return this.#read();
  }

  close(): void {
    this.#end();
  }

  async *#read(): AsyncGenerator<string> {
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

  #take(data: unknown): void {
    this.#heard = true;
    if (this.#ended || typeof data !== 'string') return;
    this.#held.push(data);
    this.#wake();
    if (this.#held.length < HELD_FRAMES) return;
    this.overflowed = true;
    this.#end();
  }

  /** Whoever was asked last time and has not said a word since is gone. */
  #ask(): void {
    if (!this.#heard) {
      this.#end();
      return;
    }
    this.#heard = false;
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.send('{"ping":1}');
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    clearInterval(this.#asking);
    this.#wake();
    const { readyState, CLOSED, CLOSING } = this.#socket;
    if (readyState !== CLOSED && readyState !== CLOSING) this.#socket.close();
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
