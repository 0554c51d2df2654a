import type { Server, ServerResponse } from 'node:http';
import { type Socket, Server as TcpServer } from 'node:net';
import { isBun } from '../own-package.ts';

/**
 * Interval in ms at which a stopping server closes idle connections. Until then a client can get one more
 * answer, with `Connection: close`.
 */
const DRAIN_MS = 100;
/**
 * Time in ms that running requests may take after the server began to stop. Then their connections are
 * closed.
 */
const STOP_GRACE_MS = 10_000;

/** Maximum number of unanswered requests per connection. Clients that pipeline requests send only a few. */
const REQUESTS_AHEAD = 100;

export interface ConnectionLimits {
  readonly total: number;
  readonly perAddress: number;
}

/**
 * Limits the number of connections and the unanswered requests of each connection. Closes connections without
 * dropping requests.
 */
export class Connections {
  readonly #server: Server;
  readonly #byAddress = new Map<string, number>();
  /** Answers of each connection that are not finished. */
  readonly #answers = new WeakMap<Socket, Set<ServerResponse>>();

  constructor(server: Server, limits: ConnectionLimits) {
    this.#server = server;
    server.maxConnections = limits.total;
    server.on('connection', (socket: Socket) => this.#count(socket, limits.perAddress));
    server.prependListener('request', ({ socket }, response) => this.#countAnswer(socket, response));
  }

  get open(): number {
    let sum = 0;
    for (const count of this.#byAddress.values()) sum += count;
    return sum;
  }

  /** Accepts no new connections and answers the open requests. Resolves when all connections are closed. */
  async stop(): Promise<void> {
    this.#server.prependListener('request', (_, response) => response.setHeader('Connection', 'close'));
    // On Node, call `close` of the TCP server. `close` of the HTTP server would also disconnect clients
    // between two requests. Bun has only `close` of the HTTP server.
    const { close } = isBun ? this.#server : TcpServer.prototype;
    const closed = new Promise<void>((resolve) => close.call(this.#server, () => resolve()));
    const force = setTimeout(() => this.#server.closeAllConnections(), STOP_GRACE_MS);
    // A client that is between two requests gets one more answer, with `Connection: close`.
    const idle = setInterval(() => this.#server.closeIdleConnections(), DRAIN_MS);
    if (this.open === 0) this.#server.closeIdleConnections();
    await closed;
    clearInterval(idle);
    clearTimeout(force);
    // Also close the HTTP server, which stops its timers.
    this.#server.close();
  }

  /**
   * Counts an answer, and aborts all answers of a connection when the connection ends. Node starts every
   * request that has arrived, even before the previous one is answered. When the connection ends, Node
   * notifies only the answer that is being sent. Without this code the other answers would follow a channel
   * forever.
   */
  #countAnswer(socket: Socket, response: ServerResponse): void {
    let answers = this.#answers.get(socket);
    if (!answers) {
      const all = new Set<ServerResponse>();
      answers = all;
      this.#answers.set(socket, all);
      socket.once('close', () => all.forEach(abortAnswer));
    }
    answers.add(response);
    response.once('close', () => answers.delete(response));
    if (answers.size > REQUESTS_AHEAD) socket.destroy();
  }

  #count(socket: Socket, most: number): void {
    const address = socket.remoteAddress ?? '';
    const count = (this.#byAddress.get(address) ?? 0) + 1;
    if (count > most) {
      socket.destroy();
      return;
    }
    this.#byAddress.set(address, count);
    socket.once('close', () => {
      const left = (this.#byAddress.get(address) ?? 1) - 1;
      if (left === 0) this.#byAddress.delete(address);
      else this.#byAddress.set(address, left);
    });
  }
}

/** Aborts an answer that was not being sent. Such an answer has no socket that would emit `close`. */
function abortAnswer(answer: ServerResponse): void {
  answer.destroy();
  if (!answer.socket) answer.emit('close');
}
