import type { WebSocket as PlatformSocket } from '@cloudflare/workers-types';
import { pause } from '../../base/pause.ts';
import type { Caller } from '../../contract/caller.ts';
import { toMessage } from '../../domain/channels/message.ts';
import type { ReaderView, Start } from '../../domain/channels/reader.ts';
import type { EntryPage } from '../../engines/cloudflare/log-rows.ts';
import { entriesOf } from '../../engines/cloudflare/logs.ts';
import type { Entry } from '../../kernel/logs.ts';

/**
 * What is sent in one turn, in characters, and to one reader before the others have their turn. The platform does not tell how much a socket
 * has yet to send, so this is how the object stays small: what was sent can leave before more is read.
 */
const TURN_CHARS = 1024 * 1024;
const PAGE_ENTRIES = 100;
/** An object that was evicted, or failed, while readers were behind wakes up for them after this. */
const GO_ON_MS = 30_000;
const OPEN = 1;

/** What an object gives its readers. */
export interface ReadersHome {
  /** The sockets that read a channel. */
  readers(stream: string): PlatformSocket[];
  /** Those whose key still works. */
  welcome(sockets: readonly PlatformSocket[]): Promise<PlatformSocket[]>;
  readEntries(stream: string, after: number, limit: number, chars: number): EntryPage;
  view(start: Start): ReaderView;
  /** Has `serve` called then for all who are behind. */
  wakeAt(due: number): void;
}

/** Sends every reader of a channel what it has not had yet: in order, once, and in turns, so that nobody waits for one who has much to catch up with. */
export class ChannelReaders {
  readonly #home: ReadersHome;
  /** Channels that are being read, and whether there was news meanwhile. */
  readonly #news = new Map<string, boolean>();

  constructor(home: ReadersHome) {
    this.#home = home;
  }

  /** Until all have everything. */
  async serve(stream: string): Promise<void> {
    const isServed = this.#news.has(stream);
    this.#news.set(stream, true);
    if (isServed) return;
    try {
      let sent = 0;
      let behind: PlatformSocket[] = [];
      while (this.#news.get(stream) || behind.length > 0) {
        if (this.#news.get(stream)) behind = this.#home.readers(stream);
        this.#news.set(stream, false);
        const readers = await this.#home.welcome(behind);
        // Those who are at the same place get the same page.
        readers.sort((a, b) => attachedTo(a).after - attachedTo(b).after);
        const round = new ReadingRound((after) =>
          this.#home.readEntries(stream, after, PAGE_ENTRIES, TURN_CHARS),
        );
        behind = [];
        for (const socket of readers) {
          if (sent >= TURN_CHARS) {
            this.#home.wakeAt(Date.now() + GO_ON_MS);
            await pause(0);
            sent = 0;
          }
          const page = this.#sendPage(socket, round);
          sent += page.chars;
          if (page.more) behind.push(socket);
        }
      }
    } catch (error) {
      this.#home.wakeAt(Date.now() + GO_ON_MS);
      throw error;
    } finally {
      this.#news.delete(stream);
    }
  }

  /** Without a pause, so that what is attached to the socket is always true. */
  #sendPage(socket: PlatformSocket, round: ReadingRound): { chars: number; more: boolean } {
    const attached = attachedTo(socket);
    const { after, base, resumes } = attached;
    const { entries, more } = round.behind(after);
    // It may have been closed since it was asked for.
    if (entries.length === 0 || socket.readyState !== OPEN) return { chars: 0, more: false };
    const view = this.#home.view(attached);
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
    attach(socket, { ...attached, after: last, gap: view.owesGap, lenient: view.lenient });
    return { chars, more: more || entries.length === PAGE_ENTRIES };
  }
}

interface Page {
  readonly after: number;
  readonly entries: readonly Entry[];
  readonly more: boolean;
}

/** What readers of a channel get who are at the same place: read once, and written once for each address they know the relay by. Only the last page is kept. */
export class ReadingRound {
  readonly #read: (after: number) => EntryPage;
  #page: Page | null = null;
  readonly #frames = new Map<string, string>();

  constructor(read: (after: number) => EntryPage) {
    this.#read = read;
  }

  behind(after: number): Page {
    if (this.#page?.after !== after) {
      const page = this.#read(after);
      this.#page = { after, entries: entriesOf(page), more: page.more };
      this.#frames.clear();
    }
    return this.#page;
  }

  /** Of the last page. Without the mark of a gap, which is told by itself. */
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

/** What is known of a socket; kept with it while the object sleeps. */
export interface Attached extends Start {
  readonly id: string;
  readonly stream: string;
  readonly caller: Caller;
  readonly base: string;
  readonly channel: string;
  /** Null for a reader. */
  readonly group: string | null;
  readonly since?: string | number;
  readonly prefetch?: number;
  /** It asked to resume, so it understands being told of a gap. */
  readonly resumes: boolean;
}

/** What is known of sockets that were used since the object woke up: reading it from a socket takes a while. */
const known = new WeakMap<PlatformSocket, Attached>();

export function attachedTo(socket: PlatformSocket): Attached {
  const attached = known.get(socket) ?? (JSON.parse(socket.deserializeAttachment() as string) as Attached);
  known.set(socket, attached);
  return attached;
}

export function attach(socket: PlatformSocket, attached: Attached): void {
  known.set(socket, attached);
  socket.serializeAttachment(JSON.stringify(attached));
}
