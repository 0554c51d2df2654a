import type { RelaySocket } from './relay-socket.ts';

const SLOTS = 30;

/** Pings every socket once in a while, a few at a time, with one timer for all. One that gave no answer is cut off. */
export class PingWheel {
  readonly #slots = Array.from({ length: SLOTS }, () => new Set<RelaySocket>());
  readonly #timer: NodeJS.Timeout;
  readonly #ping: (socket: RelaySocket) => void;
  #at = 0;
  #next = 0;

  constructor(everyMs: number, ping: (socket: RelaySocket) => void) {
    this.#ping = ping;
    this.#timer = setInterval(() => this.#turn(), Math.max(1, everyMs / SLOTS)).unref();
  }

  add(socket: RelaySocket): void {
    // Not the one that is next: a socket that has just come need not prove that it is there.
    socket.slot = this.#next = (this.#next + 1) % SLOTS;
    this.#slots[socket.slot]!.add(socket);
  }

  remove(socket: RelaySocket): void {
    this.#slots[socket.slot]!.delete(socket);
  }

  *sockets(): Generator<RelaySocket> {
    for (const slot of this.#slots) yield* slot;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #turn(): void {
    this.#at = (this.#at + 1) % SLOTS;
    for (const socket of this.#slots[this.#at]!) {
      if (!socket.alive) socket.terminate();
      else {
        socket.alive = false;
        this.#ping(socket);
      }
    }
  }
}
