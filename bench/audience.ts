import { WebSocket } from 'ws';
import type { Peer } from './pointers.ts';

/** Opens WebSockets on one channel of one server and measures how long a message takes to reach all of them. */
export class Audience implements Disposable {
  readonly #peer: Peer;
  readonly #channel: string;
  readonly #sockets: WebSocket[] = [];
  #missing = 0;
  #allReceived = () => {};

  constructor(peer: Peer, channel: string) {
    this.#peer = peer;
    this.#channel = channel;
  }

  /** Opens more sockets, at most 100 at a time, because a server's listen queue is short. */
  async grow(count: number): Promise<void> {
    for (let left = count; left > 0; left -= 100) {
      await Promise.all(Array.from({ length: Math.min(left, 100) }, () => this.#open()));
    }
  }

  /** Pushes a small payload and returns the time in ms from the request to the message at the last socket. */
  async push(): Promise<number> {
    this.#missing = this.#sockets.length;
    const all = new Promise<void>((resolve) => {
      this.#allReceived = resolve;
    });
    const begun = performance.now();
    const response = await fetch(`${this.#peer.url}/push`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...this.#headers() },
      body: JSON.stringify({ data: 'all happy relays are alike', channel: this.#channel }),
    });
    await response.arrayBuffer();
    await all;
    return performance.now() - begun;
  }

  [Symbol.dispose](): void {
    for (const socket of this.#sockets) socket.terminate();
  }

  async #open(): Promise<void> {
    const socket = new WebSocket(`${this.#peer.url.replace('http', 'ws')}/ws/${this.#channel}`, {
      perMessageDeflate: false,
      headers: this.#headers(),
    });
    socket.on('message', () => {
      if (--this.#missing === 0) this.#allReceived();
    });
    await new Promise<void>((resolve, reject) => {
      socket.once('open', () => resolve());
      socket.once('error', reject);
    });
    this.#sockets.push(socket);
  }

  #headers(): Record<string, string> {
    return this.#peer.key ? { authorization: `Bearer ${this.#peer.key}` } : {};
  }
}
