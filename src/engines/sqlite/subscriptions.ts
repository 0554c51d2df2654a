import { closeSync, constants, type FSWatcher, openSync, watch, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Entry } from '../../kernel/logs.ts';
import type { Database } from './database.ts';
import { readEntries, Tail } from './tail.ts';

/** What a subscriber that is behind reads, and holds, at once. */
const PAGE_ENTRIES = 100;
const PAGE_CHARS = 256 * 1024;

/** The file in the home that processes wake each other with. */
const WAKE_FILE = 'wake';

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

  constructor(db: Database, home: string) {
    this.#db = db;
    this.#wake = new WakeFile(join(home, WAKE_FILE));
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

  /** This process has committed to these streams: tells its own subscribers, and other processes. */
  committed(streams: ReadonlySet<string>): void {
    for (const stream of streams) {
      const tail = this.#tails.get(stream);
      if (tail) this.#refresh(tail);
    }
    if (streams.size > 0) this.#wake.touch();
  }

  /** Ends what everyone follows. What is committed after it still wakes other processes, until `close`. */
  end(): void {
    this.#closed = true;
    for (const tail of this.#tails.values()) for (const wake of tail.waiting) wake();
    this.#stop();
  }

  close(): void {
    this.end();
    this.#wake.close();
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

/**
 * How processes tell each other that streams have grown: a file that is written after a commit and watched by
 * who waits. Only a hint, which may get lost; nothing is ever read from it.
 */
class WakeFile {
  readonly #path: string;
  #fd = -1;
  #watcher: FSWatcher | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** After COMMIT: whoever is woken earlier looks too early. */
  touch(): void {
    try {
      if (this.#fd < 0) this.#fd = this.#open();
      writeSync(this.#fd, '.', 0);
    } catch {
      // The commit stands; others will see it when they look by themselves.
    }
  }

  /** Does not keep the process alive. */
  watch(woken: () => void): void {
    try {
      closeSync(this.#open());
      this.#watcher = watch(this.#path, { persistent: false }, woken);
      this.#watcher.on('error', () => this.unwatch());
    } catch {
      // Some file systems cannot be watched, and watches can run out.
    }
  }

  unwatch(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  close(): void {
    this.unwatch();
    if (this.#fd >= 0) closeSync(this.#fd);
    this.#fd = -1;
  }

  #open(): number {
    return openSync(this.#path, constants.O_WRONLY | constants.O_CREAT, 0o600);
  }
}
