import type { Server, ServerResponse } from 'node:http';
import { type Socket, Server as TcpServer } from 'node:net';
import { isBun } from '../own-package.ts';

/** How long clients that keep a connection open are told with an answer to take another, before it is taken from them. */
const DRAIN_MS = 100;
/** How long running requests may take to finish once the server was told to stop. */
const STOP_GRACE_MS = 10_000;

/** Requests of one connection that have no answer yet. Clients that send several ahead send a few. */
const REQUESTS_AHEAD = 100;

export interface ConnectionLimits {
  readonly total: number;
  readonly perAddress: number;
}

/** Who is connected: bounds how many and what each asks for at once, and lets them go without dropping what they asked for. */
export class Connections {
  readonly #server: Server;
  readonly #byAddress = new Map<string, number>();
  /** Of each connection, the answers that are not finished. */
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

  /** Takes no new connections, answers what was asked on those there are, then resolves. */
  async stop(): Promise<void> {
    this.#server.prependListener('request', (_, response) => response.setHeader('Connection', 'close'));
    // On Node the TCP server's close: the HTTP server's own also cuts off clients between two requests. Bun has only the latter.
    const { close } = isBun ? this.#server : TcpServer.prototype;
    const closed = new Promise<void>((resolve) => close.call(this.#server, () => resolve()));
    const force = setTimeout(() => this.#server.closeAllConnections(), STOP_GRACE_MS);
    // Whoever is between two requests gets one more answer, which says that it was the last here.
    const idle = setInterval(() => this.#server.closeIdleConnections(), DRAIN_MS);
    if (this.open === 0) this.#server.closeIdleConnections();
    await closed;
    clearInterval(idle);
    clearTimeout(force);
    // The rest of what closing an HTTP server does: it no longer looks at timeouts.
    this.#server.close();
  }

  /**
   * Node begins every request that has arrived, before the one ahead of it was answered. When the connection ends it only tells the answer whose
   * turn it was; the others would follow a channel for ever.
   */
  #countAnswer(socket: Socket, response: ServerResponse): void {
    let answers = this.#answers.get(socket);
    if (!answers) {
      const all = new Set<ServerResponse>();
      answers = all;
      this.#answers.set(socket, all);
      socket.once('close', () => all.forEach(giveUp));
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

/** An answer that never had its turn has no connection that would tell of its end. */
function giveUp(answer: ServerResponse): void {
  answer.destroy();
  if (!answer.socket) answer.emit('close');
}
