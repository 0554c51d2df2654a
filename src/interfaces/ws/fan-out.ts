import { setImmediate } from 'node:timers/promises';
import { pause } from '../../base/pause.ts';
import type { Channels } from '../../domain/channels/channels.ts';
import { channelEntry, type Entry } from '../../domain/channels/message.ts';
import type { Start } from '../../domain/channels/reader.ts';
import type { Confirmations } from './confirmations.ts';
import { gapFrame, SharedFrame, TEXT, TOO_SLOW } from './protocol.ts';
import type { RelaySocket } from './relay-socket.ts';

/** After so many sends in a row everyone else gets a turn. */
const SENDS_AT_ONCE = 1024;
/** Entries taken from the log ahead of the sockets. */
const AHEAD = 256;
const RETRY_MS = 1000;

interface FanOutOptions {
  readonly channels: Channels;
  readonly tenant: string;
  readonly channel: string;
  readonly confirmations: Confirmations;
  readonly slowReaderBytes: number;
  /** Nobody listens any more, or the store could not be read: it is not to be used again. */
  readonly onStop: () => void;
}

/**
 * One channel of one tenant: a single subscription to its log, however many sockets there are. Whoever is behind reads
 * the log by itself and joins where the two meet.
 */
export class FanOut {
  readonly #o: FanOutOptions;
  readonly #ended = new AbortController();
  readonly #started: Promise<void>;
  readonly #sockets = new Set<RelaySocket>();
  /** Also those that are catching up. */
  #members = 0;
  #queue: Entry[] = [];
  #sending: Promise<void> | null = null;
  /** The newest entry that has been sent to everyone here. */
  #position = 0;

  constructor(o: FanOutOptions) {
    this.#o = o;
    this.#started = this.#start();
  }

  /** Sends what the socket has missed, as fast as it reads, then everything that comes. */
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
    this.#o.onStop();
  }

  async #start(): Promise<void> {
    const { channels, tenant, channel } = this.#o;
    try {
      this.#position = (await channels.start(tenant, channel, undefined)).after;
    } catch (error) {
      this.stop();
      throw error;
    }
    void this.#follow();
  }

  async #catchUp(socket: RelaySocket, start: Start): Promise<void> {
    const { channels, tenant, channel } = this.#o;
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
    // Without a pause after the last look at the position, or an entry could slip through in between.
    if (socket.readyState === socket.OPEN) this.#sockets.add(socket);
  }

  async #follow(): Promise<void> {
    const { channels, tenant, channel } = this.#o;
    const { signal } = this.#ended;
    while (!signal.aborted) {
      try {
        const after = this.#queue.at(-1)?.seq ?? this.#position;
        for await (const entry of channels.follow(tenant, channel, after, signal)) {
          this.#queue.push(entry);
          this.#sending ??= this.#sendAll();
          if (this.#queue.length >= AHEAD) await this.#sending;
        }
        return;
      } catch {
        // The store did not answer: those who wait here wait on, and miss nothing.
        await pause(RETRY_MS, signal);
      }
    }
  }

  /** In a turn of its own, so that whoever pushed has its answer before a thousand others have theirs. */
  async #sendAll(): Promise<void> {
    await setImmediate();
    let sends = 0;
    for (let entry = this.#queue.shift(); entry; entry = this.#queue.shift()) {
      // First of all: who joins from here on has read this one by itself.
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
    if (socket.bufferedAmount <= this.#o.slowReaderBytes) {
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
    if (frame.pointer !== null) this.#o.confirmations.sent(socket, frame.pointer);
  }
}
