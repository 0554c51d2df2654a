import type { Entry } from '../../kernel/logs.ts';
import type { Database } from './database.ts';
import { readEntries } from './logs.ts';
import { Tail } from './tail.ts';
import type { WakeFile } from './wake.ts';

/** What a subscriber that is behind reads, and holds, at once. */
const PAGE_ENTRIES = 100;
const PAGE_CHARS = 256 * 1024;

/** How often to look for what the wake file did not tell. */
const LOOK_MS = 1000;

/** Everyone in this process who follows a stream. Watches for other processes only while there is someone. */
export class Subscriptions {
  readonly #db: Database;
  readonly #wake: WakeFile;
  readonly #tails = new Map<string, Tail>();
  #closed = false;
  #timer: NodeJS.Timeout | undefined;
  #version = -1;
  #looking = false;
  #lookedAt = 0;
  #lookCost = 0;

  constructor(db: Database, wake: WakeFile) {
    this.#db = db;
    this.#wake = wake;
  }

  /** Pull-based: between two entries it holds a cursor and at most one page. */
  async *follow(stream: string, after: number, signal: AbortSignal): AsyncGenerator<Entry> {
    if (signal.aborted || this.#closed) return;
    let wake = () => {};
    const aborted = () => wake();
    const tail = await this.#join(stream);
    if (!tail) return;
    signal.addEventListener('abort', aborted);
    try {
      for (let cursor = after; !signal.aborted && !this.#closed; ) {
        if (cursor < tail.from) {
          const page = await this.#page(stream, cursor);
          // Dropped: there is nothing left between here and what the tail holds.
          if (page.length === 0) cursor = tail.from;
          for (const entry of page) {
            if (signal.aborted || this.#closed) return;
            cursor = entry.seq;
            yield entry;
          }
          continue;
        }
        const entry = tail.next(cursor);
        if (entry) {
          cursor = entry.seq;
          yield entry;
        } else {
          await new Promise<void>((resolve) => {
            wake = resolve;
            tail.waiting.add(resolve);
          });
        }
      }
    } finally {
      tail.waiting.delete(wake);
      signal.removeEventListener('abort', aborted);
      this.#leave(tail);
    }
  }

  /** This process has committed to these streams. */
  committed(streams: ReadonlySet<string>): void {
    for (const stream of streams) {
      const tail = this.#tails.get(stream);
      if (tail) this.#refresh(tail);
    }
  }

  close(): void {
    this.#closed = true;
    for (const tail of this.#tails.values()) for (const wake of tail.waiting) wake();
    this.#stop();
  }

  /** Null where the store was closed meanwhile. */
  async #join(stream: string): Promise<Tail | null> {
    let tail = this.#tails.get(stream);
    if (!tail) {
      tail = new Tail(stream);
      this.#tails.set(stream, tail);
    }
    tail.subscribers++;
    if (!this.#timer) this.#start();
    try {
      await this.#db.patiently(() => tail.refresh(this.#db));
    } catch (error) {
      this.#leave(tail);
      if (this.#closed) return null;
      throw error;
    }
    return tail;
  }

  #leave(tail: Tail): void {
    if (--tail.subscribers > 0) return;
    this.#tails.delete(tail.stream);
    if (this.#tails.size === 0) this.#stop();
  }

  async #page(stream: string, after: number): Promise<Entry[]> {
    try {
      return await this.#db.patiently(() => readEntries(this.#db, stream, after, PAGE_ENTRIES, PAGE_CHARS));
    } catch (error) {
      if (this.#closed) return [];
      throw error;
    }
  }

  /** The timer keeps the process alive: who follows a stream wants to hear of it. */
  #start(): void {
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
    this.#wake.watch(() => this.#look());
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#wake.unwatch();
  }

  /** Looks once for all wakes of a turn; with many streams it spends no more than half of its time on looking. */
  #look(): void {
    if (this.#looking) return;
    this.#looking = true;
    const wait = this.#lookedAt + this.#lookCost - performance.now();
    const look = () => {
      this.#looking = false;
      if (this.#closed || !this.#changed()) return;
      const begun = performance.now();
      for (const tail of this.#tails.values()) this.#refresh(tail);
      this.#lookedAt = performance.now();
      this.#lookCost = this.#lookedAt - begun;
    };
    if (wait > 1) setTimeout(look, wait);
    else setImmediate(look);
  }

  /** Whether another process has committed since the last look. */
  #changed(): boolean {
    try {
      const version = this.#db.dataVersion();
      if (version === this.#version) return false;
      this.#version = version;
      return true;
    } catch {
      return false;
    }
  }

  /** Sync where nobody is in the way, as almost always; its own failures are those of the next read. */
  #refresh(tail: Tail): void {
    try {
      tail.refresh(this.#db);
    } catch {
      this.#db.patiently(() => tail.refresh(this.#db)).catch(() => {});
    }
  }
}
