import type { Receipts } from '../../domain/receipts/receipts.ts';
import type { RelaySocket } from './relay-socket.ts';

/** How long after a message a socket is asked whether it is there, and how many are asked at once. */
const ASK_AFTER_MS = 250;
const ASK_AT_ONCE = 100;
/** Pointers remembered for one socket between two answers; what is beyond is not reported. */
const REMEMBERED = 256;

/**
 * The evidence for "notified": a socket that answers a ping which was sent behind a message has received the message.
 * Asked in small numbers, so that a large audience is not made to answer all at once.
 */
export class Confirmations {
  readonly #receipts: Receipts;
  readonly #waiting = new Set<RelaySocket>();
  #timer: NodeJS.Timeout | undefined;
  #count = 0;

  constructor(receipts: Receipts) {
    this.#receipts = receipts;
  }

  sent(socket: RelaySocket, pointer: string): void {
    socket.unconfirmed ??= [];
    if (socket.unconfirmed.length >= REMEMBERED) return;
    socket.unconfirmed.push(pointer);
    if (socket.asked === 0) this.#waiting.add(socket);
    this.#askSoon();
  }

  /** A ping whose answer can be told from any other pong. */
  ping(socket: RelaySocket): void {
    if (socket.readyState !== socket.OPEN) return;
    if (socket.asked === 0 && socket.unconfirmed) {
      socket.asked = socket.unconfirmed.length;
      socket.stamp = ++this.#count;
      socket.ping(String(socket.stamp));
    } else socket.ping();
    this.#waiting.delete(socket);
  }

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
