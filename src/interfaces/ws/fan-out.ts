import { setImmediate } from 'node:timers/promises';
import { pause } from '../../base/pause.ts';
import type { Channels } from '../../domain/channels/channels.ts';
import { channelEntry, type Entry } from '../../domain/channels/message.ts';
import type { Start } from '../../domain/channels/reader.ts';
import type { Confirmations } from './confirmations.ts';
import { gapFrame, SharedFrame, TEXT, TOO_SLOW } from './protocol.ts';
import type { RelaySocket } from './relay-socket.ts';

/** Number of sends after which the event loop gets time for other work. */
const SENDS_AT_ONCE = 1024;
/** Maximum number of log entries that wait to be sent. */
const MAX_QUEUED = 256;
const RETRY_MS = 1000;

interface FanOutOptions {
  readonly channels: Channels;
  readonly tenant: string;
  readonly channel: string;
  readonly confirmations: Confirmations;
  readonly slowReaderBytes: number;
  /** Called when no socket is left or the store cannot be read. The fan-out is then unusable. */
  readonly onStop: () => void;
}

/**
 * Sends the messages of one channel to all its sockets, with one subscription to the log. A new socket first
 * reads the messages that it missed.
 */
export class FanOut {
  readonly #options: FanOutOptions;
  readonly #ended = new AbortController();
  readonly #started: Promise<void>;
  readonly #sockets = new Set<RelaySocket>();
  /** Number of sockets, including those that are still catching up. */
  #members = 0;
  #queue: Entry[] = [];
  #sending: Promise<void> | null = null;
  /** Sequence number of the newest entry that was sent, or is being sent, to the sockets in `#sockets`. */
  #position = 0;

  constructor(options: FanOutOptions) {
    this.#options = options;
    this.#started = this.#start();
  }

  /**
   * Sends a socket the messages that it missed, as fast as its client reads them. Then adds the socket to the sockets
   * that get live messages.
   */
  async join(socket: RelaySocket, start: Start): Promise<void> {
    this.#members++;
    socket.seq = start.after;
    socket.gap = start.gap;
    await this.#started;
    if (socket.seq < this.#position) await this.#catchUp(socket, start);
    else if (socket.readyState === socket.OPEN) this.#sockets.add(socket);
  }

  leave(socket: RelaySocket): void {
    this.#sockets.delete(socket);
    this.#members--;
    if (this.#members === 0) this.stop();
  }

  stop(): void {
    if (this.#ended.signal.aborted) return;
    this.#ended.abort();
    this.#options.onStop();
  }

  async #start(): Promise<void> {
    const { channels, tenant, channel } = this.#options;
    try {
      this.#position = (await channels.start(tenant, channel, undefined)).after;
    } catch (error) {
      this.stop();
      throw error;
    }
    void this.#follow();
  }

  async #catchUp(socket: RelaySocket, start: Start): Promise<void> {
    const { channels, tenant, channel } = this.#options;
    const view = channels.view(start);
    socket.gap = false;
    while (socket.seq < this.#position && socket.readyState === socket.OPEN) {
      const entries = await channels.read(tenant, channel, socket.seq);
      if (entries.length === 0) socket.seq = this.#position;
      let flushed: Promise<void> | null = null;
      for (const entry of entries) {
        const seen = view.see(entry);
        if (seen) {
          flushed = new Promise((resolve) => this.#send(socket, new SharedFrame(seen), () => resolve()));
        }
        socket.seq = entry.seq;
      }
      await flushed;
    }
    socket.gap = view.owesGap;
    // Do not `await` between the last check of `#position` and this `add`: the socket would miss an entry that is sent
    // in between.
    if (socket.readyState === socket.OPEN) this.#sockets.add(socket);
  }

  async #follow(): Promise<void> {
    const { channels, tenant, channel } = this.#options;
    const { signal } = this.#ended;
    while (!signal.aborted) {
      try {
        const after = this.#queue.at(-1)?.seq ?? this.#position;
        for await (const entry of channels.follow(tenant, channel, after, signal)) {
          this.#queue.push(entry);
          this.#sending ??= this.#sendAll();
          if (this.#queue.length >= MAX_QUEUED) await this.#sending;
        }
        return;
      } catch {
        // The store did not answer. Try again from the last received entry, so that the sockets miss nothing.
        await pause(RETRY_MS, signal);
      }
    }
  }

  /**
   * Sends the queue, in a later turn of the event loop, so that the client that pushed gets its response
   * first.
   */
  async #sendAll(): Promise<void> {
    await setImmediate();
    let sends = 0;
    for (let entry = this.#queue.shift(); entry; entry = this.#queue.shift()) {
      // Set the position before sending: a socket that joins from now on then reads this entry from the log.
      this.#position = entry.seq;
      const frame = channelEntry(entry.data) ? new SharedFrame(entry) : null;
      for (const socket of this.#sockets) {
        if (socket.seq >= entry.seq) continue;
        if (frame) this.#sendLive(socket, frame);
        socket.seq = entry.seq;
        if (++sends % SENDS_AT_ONCE === 0) await setImmediate();
      }
    }
    this.#sending = null;
  }

  #sendLive(socket: RelaySocket, frame: SharedFrame): void {
    if (socket.bufferedAmount <= this.#options.slowReaderBytes) {
      this.#send(socket, frame);
      return;
    }
    this.#sockets.delete(socket);
    socket.close(TOO_SLOW, `too slow: reconnect with ?since=${socket.seq}`);
  }

  #send(socket: RelaySocket, frame: SharedFrame, flushed?: () => void): void {
    if (socket.resumes && (socket.gap || frame.entry.gap)) {
      socket.gap = false;
      socket.send(gapFrame(socket.seq, frame.entry.seq), TEXT);
    }
    socket.send(frame.for(socket.base), TEXT, flushed);
    if (frame.pointer !== null) this.#options.confirmations.sent(socket, frame.pointer);
  }
}
