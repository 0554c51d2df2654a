import type { Receipts } from '../../domain/receipts/receipts.ts';
import type { RelaySocket } from './relay-socket.ts';

/** Delay in ms between a message and the ping that confirms it. */
const ASK_AFTER_MS = 250;
/** Maximum number of sockets pinged at once. */
const ASK_AT_ONCE = 100;
/** Maximum number of unconfirmed pointers per socket. Pointers beyond it get no "notified" receipt from this socket. */
const REMEMBERED = 256;

/**
 * Collects the evidence for "notified" receipts. The server pings a socket after a message. A pong proves that the
 * message arrived before it. Pings are sent in small batches, so that not all subscribers answer at once.
 */
export class Confirmations {
  readonly #receipts: Receipts;
  readonly #waiting = new Set<RelaySocket>();
  #timer: NodeJS.Timeout | undefined;
  #count = 0;

  constructor(receipts: Receipts) {
    this.#receipts = receipts;
  }

  /** Remembers that a message about this pointer was sent to the socket. */
  sent(socket: RelaySocket, pointer: string): void {
    socket.unconfirmed ??= [];
    if (socket.unconfirmed.length >= REMEMBERED) return;
    socket.unconfirmed.push(pointer);
    if (socket.asked === 0) this.#waiting.add(socket);
    this.#askSoon();
  }

  /** Pings the socket. If pointers are unconfirmed, the ping carries a stamp that identifies its pong. */
  ping(socket: RelaySocket): void {
    if (socket.readyState !== socket.OPEN) return;
    if (socket.asked === 0 && socket.unconfirmed) {
      socket.asked = socket.unconfirmed.length;
      socket.stamp = ++this.#count;
      socket.ping(String(socket.stamp));
    } else socket.ping();
    this.#waiting.delete(socket);
  }

  /** Handles a pong: writes receipts for the pointers that were sent before its ping. */
  answered(socket: RelaySocket, data: Buffer): void {
    const { unconfirmed, asked } = socket;
    if (asked === 0 || !unconfirmed || data.toString() !== String(socket.stamp)) return;
    const confirmed = unconfirmed.splice(0, asked);
    socket.asked = 0;
    if (unconfirmed.length === 0) socket.unconfirmed = null;
    else this.#waiting.add(socket);
    if (this.#waiting.size > 0) this.#askSoon();
    for (const pointer of confirmed) this.#receipts.notified(pointer, socket.caller.name);
  }

  gone(socket: RelaySocket): void {
    this.#waiting.delete(socket);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#waiting.clear();
  }

  #askSoon(): void {
    this.#timer ??= setTimeout(() => this.#askSome(), ASK_AFTER_MS).unref();
  }

  #askSome(): void {
    this.#timer = undefined;
    let asked = 0;
    for (const socket of this.#waiting) {
      if (asked++ >= ASK_AT_ONCE) break;
      this.ping(socket);
    }
    if (this.#waiting.size > 0) this.#askSoon();
  }
}
