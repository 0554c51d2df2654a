import type { Receipts } from '../../domain/receipts/receipts.ts';
import type { RelaySocket } from './relay-socket.ts';

/** Time in ms from a message to the ping that follows it. The pong of this ping confirms the message. */
const PING_AFTER_MS = 250;
/** Maximum number of sockets that are pinged in one batch. */
const PINGS_PER_BATCH = 100;
/** Maximum number of unconfirmed pointers per socket. Further pointers get no "notified" receipt from this socket. */
const MAX_UNCONFIRMED = 256;

/**
 * Collects the evidence for "notified" receipts: the pong that a client returns for a ping after a message. Pings are
 * sent in small batches, so that not all subscribers answer at the same time.
 */
export class Confirmations {
  readonly #receipts: Receipts;
  readonly #waiting = new Set<RelaySocket>();
  #timer: NodeJS.Timeout | undefined;
  #count = 0;

  constructor(receipts: Receipts) {
    this.#receipts = receipts;
  }

  /** Records that a message about this pointer was sent to the socket. */
  sent(socket: RelaySocket, pointer: string): void {
    socket.unconfirmed ??= [];
    if (socket.unconfirmed.length >= MAX_UNCONFIRMED) return;
    socket.unconfirmed.push(pointer);
    if (socket.pinged === 0) this.#waiting.add(socket);
    this.#pingSoon();
  }

  /**
   * Pings the socket. With unconfirmed pointers, the ping contains a number by which its pong is recognized.
   */
  ping(socket: RelaySocket): void {
    if (socket.readyState !== socket.OPEN) return;
    if (socket.pinged === 0 && socket.unconfirmed) {
      socket.pinged = socket.unconfirmed.length;
      socket.pingStamp = ++this.#count;
      socket.ping(String(socket.pingStamp));
    } else socket.ping();
    this.#waiting.delete(socket);
  }

  /** Handles a pong: writes receipts for the pointers that were sent before its ping. */
  answered(socket: RelaySocket, data: Buffer): void {
    const { unconfirmed, pinged } = socket;
    if (pinged === 0 || !unconfirmed || data.toString() !== String(socket.pingStamp)) return;
    const confirmed = unconfirmed.splice(0, pinged);
    socket.pinged = 0;
    if (unconfirmed.length === 0) socket.unconfirmed = null;
    else this.#waiting.add(socket);
    if (this.#waiting.size > 0) this.#pingSoon();
    for (const pointer of confirmed) this.#receipts.notified(pointer, socket.caller);
  }

  forget(socket: RelaySocket): void {
    this.#waiting.delete(socket);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#waiting.clear();
  }

  #pingSoon(): void {
    this.#timer ??= setTimeout(() => this.#pingBatch(), PING_AFTER_MS).unref();
  }

  #pingBatch(): void {
    this.#timer = undefined;
    let pings = 0;
    for (const socket of this.#waiting) {
      if (pings++ >= PINGS_PER_BATCH) break;
      this.ping(socket);
    }
    if (this.#waiting.size > 0) this.#pingSoon();
  }
}
