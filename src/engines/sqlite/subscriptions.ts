import { closeSync, constants, type FSWatcher, openSync, watch, writeSync } from 'node:fs';
import { join } from 'node:path';
import { Followers } from '../../kernel/engine.ts';
import type { Entry } from '../../kernel/logs.ts';
import type { Database } from './database.ts';

/** The file in the home that processes wake each other with. */
const WAKE_FILE = 'wake';

/** How often to look for what the wake file did not tell. */
const LOOK_MS = 1000;

/** About what a look costs for each stream that is followed. Looking takes no more than half of the time. */
const LOOK_COST_MS = 0.02;

/**
 * Tells subscribers of commits: those of this process right after a COMMIT, those of other processes by a file that is
 * written after a commit and watched by who waits. That file is only a hint, which may get lost; nothing is ever read
 * from it. Watches only while there is a subscriber.
 */
export class Subscriptions {
  readonly #db: Database;
  readonly #followers = new Followers();
  readonly #path: string;
  #fd = -1;
  #watcher: FSWatcher | undefined;
  #timer: NodeJS.Timeout | undefined;
  #version = -1;
  #looking = false;
  #lookedAt = 0;

  constructor(db: Database, home: string) {
    this.#db = db;
    this.#path = join(home, WAKE_FILE);
  }

  /** `read` gives a page of the stream from behind a sequence. */
  async *follow(
    stream: string,
    after: number,
    signal: AbortSignal,
    read: (after: number) => Promise<Entry[]>,
  ): AsyncGenerator<Entry> {
    if (!this.#timer) this.#start();
    try {
      yield* this.#followers.follow(stream, after, signal, read);
    } finally {
      if (this.#followers.streams === 0) this.#stop();
    }
  }

  /** This process has committed to these streams, at least one: tells its own subscribers, and other processes. */
  committed(streams: ReadonlySet<string>): void {
    for (const stream of streams) this.#followers.wake(stream);
    try {
      if (this.#fd < 0) this.#fd = this.#openWakeFile();
      writeSync(this.#fd, '.', 0);
    } catch {
      // The commit stands; others will see it when they look by themselves.
    }
  }

  /** Ends what everyone follows. What is committed after it still wakes other processes, until `close`. */
  end(): void {
    this.#followers.end();
    this.#stop();
  }

  close(): void {
    this.end();
    if (this.#fd >= 0) closeSync(this.#fd);
    this.#fd = -1;
  }

  /** The timer keeps the process alive, as who follows a stream wants to hear of it; the watcher does not. */
  #start(): void {
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
    try {
      closeSync(this.#openWakeFile());
      this.#watcher = watch(this.#path, { persistent: false }, () => this.#look());
      this.#watcher.on('error', () => this.#unwatch());
    } catch {
      // Some file systems cannot be watched, and watches can run out.
    }
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#unwatch();
  }

  #unwatch(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  /** Looks once for all that happened meanwhile. */
  #look(): void {
    if (this.#looking) return;
    this.#looking = true;
    const look = () => {
      this.#looking = false;
      this.#lookedAt = performance.now();
      if (this.#timer && this.#changed()) this.#followers.wakeAll();
    };
    const rest = 2 * LOOK_COST_MS * this.#followers.streams;
    const wait = this.#lookedAt + rest - performance.now();
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

  #openWakeFile(): number {
    return openSync(this.#path, constants.O_WRONLY | constants.O_CREAT, 0o600);
  }
}
