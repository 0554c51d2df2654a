import type { WebSocket as PlatformSocket } from '@cloudflare/workers-types';
import { pause } from '../../base/pause.ts';
import type { Caller } from '../../contract/caller.ts';
import { toMessage } from '../../domain/channels/message.ts';
import type { ReaderView, Start } from '../../domain/channels/reader.ts';
import type { EntryPage } from '../../engines/cloudflare/log-rows.ts';
import { parseEntries } from '../../engines/cloudflare/logs.ts';
import type { Entry } from '../../kernel/logs.ts';

/**
 * Maximum number of characters that are sent in one turn of the event loop, and in one page of entries. The
 * platform does not report how much data a socket still has to send. Short turns let sent data leave before more
 * is read, so the memory stays bounded.
 */
const TURN_CHARS = 1024 * 1024;
const PAGE_ENTRIES = 100;
/**
 * Time in ms after which an alarm resumes serving. The alarm is needed if the object fails or is evicted
 * while readers are behind.
 */
const RESUME_ALARM_MS = 30_000;
const OPEN = 1;

/** Functions of the Durable Object that `ChannelReaders` uses. */
export interface ReadersHost {
  /** Returns the sockets that read a channel. */
  readers(stream: string): PlatformSocket[];
  /** Returns the sockets whose API key is still valid. */
  withValidKey(sockets: readonly PlatformSocket[]): Promise<PlatformSocket[]>;
  readEntries(stream: string, after: number, limit: number, chars: number): EntryPage;
  view(start: Start): ReaderView;
  /** Sets an alarm that calls `serve` for all readers that are behind. */
  wakeAt(due: number): void;
}

/**
 * Sends each new message to every reader of a channel once and in order. Readers take turns, so a reader
 * that is far behind does not delay the others.
 */
export class ChannelReaders {
  readonly #host: ReadersHost;
  /** Channels that are being served. The value is true if messages arrived since the last round. */
  readonly #hasNews = new Map<string, boolean>();

  constructor(host: ReadersHost) {
    this.#host = host;
  }

  /** Serves the readers of a channel until all are up to date. */
  async serve(stream: string): Promise<void> {
    const isServed = this.#hasNews.has(stream);
    this.#hasNews.set(stream, true);
    if (isServed) return;
    try {
      let sent = 0;
      let behind: PlatformSocket[] = [];
      while (this.#hasNews.get(stream) || behind.length > 0) {
        if (this.#hasNews.get(stream)) behind = this.#host.readers(stream);
        this.#hasNews.set(stream, false);
        const readers = await this.#host.withValidKey(behind);
        // Sort by position, so readers at the same position share one page.
        readers.sort((a, b) => socketState(a).after - socketState(b).after);
        const round = new ReadingRound((after) =>
          this.#host.readEntries(stream, after, PAGE_ENTRIES, TURN_CHARS),
        );
        behind = [];
        for (const socket of readers) {
          if (sent >= TURN_CHARS) {
            this.#host.wakeAt(Date.now() + RESUME_ALARM_MS);
            await pause(0);
            sent = 0;
          }
          const page = this.#sendPage(socket, round);
          sent += page.chars;
          if (page.more) behind.push(socket);
        }
      }
    } catch (error) {
      this.#host.wakeAt(Date.now() + RESUME_ALARM_MS);
      throw error;
    } finally {
      this.#hasNews.delete(stream);
    }
  }

  /**
   * Sends one page of entries to a reader. Must not await, otherwise the position stored with the socket could be
   * wrong.
   */
  #sendPage(socket: PlatformSocket, round: ReadingRound): { chars: number; more: boolean } {
    const state = socketState(socket);
    const { after, base, resumes } = state;
    const { entries, more } = round.pageAfter(after);
    // Skip a socket that was closed after the round began.
    if (entries.length === 0 || socket.readyState !== OPEN) return { chars: 0, more: false };
    const view = this.#host.view(state);
    let chars = 0;
    let last = after;
    for (const entry of entries) {
      const seen = view.see(entry);
      if (seen) {
        if (seen.gap && resumes) socket.send(JSON.stringify({ gap: true, after: last, next: seen.seq }));
        const frame = round.frame(seen, base);
        socket.send(frame);
        chars += frame.length;
      }
      last = entry.seq;
    }
    setSocketState(socket, { ...state, after: last, gap: view.owesGap, lenient: view.lenient });
    return { chars, more: more || entries.length === PAGE_ENTRIES };
  }
}

interface Page {
  readonly after: number;
  readonly entries: readonly Entry[];
  readonly more: boolean;
}

/**
 * Caches the current page of entries, so that it is read only once for all readers at the same position. A
 * message is serialized once per base URL, because its pointer contains the base URL.
 */
export class ReadingRound {
  readonly #read: (after: number) => EntryPage;
  #page: Page | null = null;
  readonly #frames = new Map<string, string>();

  constructor(read: (after: number) => EntryPage) {
    this.#read = read;
  }

  /** Returns the page of entries after a position. Reads it if the cached page is at another position. */
  pageAfter(after: number): Page {
    if (this.#page?.after !== after) {
      const page = this.#read(after);
      this.#page = { after, entries: parseEntries(page), more: page.more };
      this.#frames.clear();
    }
    return this.#page;
  }

  /**
   * Serializes an entry of the current page. Leaves out the gap flag, because a gap is sent as its own
   * frame.
   */
  frame(entry: Entry, base: string): string {
    const key = `${entry.seq} ${base}`;
    let frame = this.#frames.get(key);
    if (frame === undefined) {
      const { gap: _, ...message } = toMessage(entry, base)!;
      frame = JSON.stringify(message);
      this.#frames.set(key, frame);
    }
    return frame;
  }
}

/** State of a socket. The platform stores it while the object hibernates. */
export interface SocketState extends Start {
  readonly id: string;
  readonly stream: string;
  readonly caller: Caller;
  readonly base: string;
  readonly channel: string;
  /** Name of the group, or null for a plain reader. */
  readonly group: string | null;
  readonly since?: string | number;
  readonly prefetch?: number;
  /** True if the client asked to resume. Only such a client understands frames about a gap. */
  readonly resumes: boolean;
}

/** Cache of parsed socket states since the object woke up. Parsing them again would be slow. */
const stateCache = new WeakMap<PlatformSocket, SocketState>();

/** Returns the state of a socket. */
export function socketState(socket: PlatformSocket): SocketState {
  const state =
    stateCache.get(socket) ?? (JSON.parse(socket.deserializeAttachment() as string) as SocketState);
  stateCache.set(socket, state);
  return state;
}

/** Stores the state of a socket. */
export function setSocketState(socket: PlatformSocket, state: SocketState): void {
  stateCache.set(socket, state);
  socket.serializeAttachment(JSON.stringify(state));
}
