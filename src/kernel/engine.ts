import type { Blobs } from './blobs.ts';
import type { Entry, Logs } from './logs.ts';
import type { Moving } from './moving.ts';
import type { Records } from './records.ts';
import type { SearchIndex } from './search-index.ts';

export interface EngineLimits {
  /** JSON bytes of one record; what exceeds it goes into a blob. */
  readonly recordBytes: number;
  /** JSON bytes of one log entry. */
  readonly entryBytes: number;
  readonly blobBytes: number;
  /** How much of one text is indexed, in bytes, where that is less than the largest artifact. */
  readonly indexedBytes?: number;
  /** What an acknowledged write survives: the end of the process, a power cut, the loss of a minority of nodes. */
  readonly durability: 'none' | 'process' | 'power' | 'quorum';
  /** A process ends with the request it was made for, which may make few calls: what nobody waits for is done a little at a time. */
  readonly shortLived?: true;
}

export interface Usage {
  readonly blobs: { readonly count: number; readonly bytes: number };
  readonly records: number;
  readonly entries: number;
  /** What it takes on disk, all in all; 0 where there is no disk. */
  readonly diskBytes: number;
  /** What a storage limit on the store is counted against, and the limit; absent where there is none. */
  readonly quota?: { readonly usedBytes: number; readonly limitBytes: number };
  /** Where large bodies lie in a bucket: what is there, also what is yet to be swept; null bytes where it did not answer. */
  readonly bucket?: { readonly name: string; readonly bytes: number | null };
}

export interface SweepResult {
  readonly blobs: number;
  readonly records: number;
  readonly bytes: number;
}

/** How the store is, for whoever runs it. */
export interface EngineState {
  /** What it is and where, without what is secret. */
  readonly engine: string;
  /** Copies of everything; null where that is a platform's own affair. */
  readonly replicas: number | null;
  /** The node that decides, where there are several; null while there is none. */
  readonly leader?: string | null;
  /** Entries of logs that this process has not heard of yet. */
  readonly backlog?: number;
  /** How far this machine's clock is ahead of the cluster's, or behind it (negative). Absent without a cluster. */
  readonly clockAheadMs?: number;
  /** What should be known or put right, each a whole sentence. */
  readonly warnings: readonly string[];
  /** What matters and cannot be seen from here, likewise. */
  readonly unseen?: readonly string[];
}

/**
 * Where everything is kept; closing it twice is fine. The ports speak storage only; an engine refuses what it cannot honour (`too_large`,
 * `bad_request`) and never clamps or drops silently. What has expired is invisible at once.
 * Which names, limits of a page and values it refuses is in validate-input.ts; key order is that of the UTF-8 bytes.
 */
export interface Engine extends AsyncDisposable {
  readonly blobs: Blobs;
  readonly records: Records;
  readonly logs: Logs;
  readonly index: SearchIndex;
  readonly limits: EngineLimits;
  /** How the store is moved; absent where that is a platform's own affair. */
  readonly moving?: Moving;
  /** The machine's clock, in milliseconds since the epoch. Expiry, leases and the stamps of entries go by it. */
  readonly now: () => number;
  /**
   * Has work done that nobody waits for, in `afterMs` or sooner: what is written behind goes through here, so that an engine
   * whose process lives only as long as it is asked something keeps that process, or the work. What is left is done
   * when the engine is closed. Work that fails has failed silently, so nothing may depend on it.
   */
  defer(work: () => Promise<unknown>, afterMs?: number): void;
  /** Reclaims what has expired and what was left half-written. Safe at any time, from any process. */
  sweep(): Promise<SweepResult>;
  usage(): Promise<Usage>;
  state(): Promise<EngineState>;
}

/** Work that fails and defers itself again, as on a full disk, is tried so often when an engine is closed, and then given up. */
const LAST_TRIES = 10;

/** Work that nobody waits for, in an engine whose process goes on: at its time, or when the engine is closed. */
export class DeferredWork {
  readonly #waiting = new Set<() => void>();
  readonly #running = new Set<Promise<void>>();

  /** What `Engine.defer` promises, and when it is done. Without `afterMs` it begins at once. */
  defer(work: () => Promise<unknown>, afterMs = 0): Promise<void> {
    if (afterMs <= 0) return this.#run(work);
    const { promise, resolve } = Promise.withResolvers<void>();
    const begin = () => {
      clearTimeout(timer);
      this.#waiting.delete(begin);
      void this.#run(work).then(resolve);
    };
    const timer = setTimeout(begin, afterMs);
    // What is left is done when the engine is closed, so this timer need not keep the process alive.
    (timer as { unref?: () => void }).unref?.();
    this.#waiting.add(begin);
    return promise;
  }

  /** Does at once what still waits, and what is deferred by that, and resolves when it is done. */
  async settle(): Promise<void> {
    for (let tries = 0; tries < LAST_TRIES; tries++) {
      for (const begin of [...this.#waiting]) begin();
      while (this.#running.size > 0) await Promise.all(this.#running);
      if (this.#waiting.size === 0) return;
    }
  }

  #run(work: () => Promise<unknown>): Promise<void> {
    const running = silently(work).finally(() => this.#running.delete(running));
    this.#running.add(running);
    return running;
  }
}

async function silently(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch {
    // Nothing depends on it.
  }
}

/** Everyone in this process who follows a stream: the loop of reading and waiting that engines share. */
export class Followers {
  readonly #wakes = new Map<string, Set<() => void>>();
  readonly #ended = new AbortController();

  /** How many streams are followed. */
  get streams(): number {
    return this.#wakes.size;
  }

  /**
   * `read` gives the entries behind a sequence, a page of them at most. Pull-based: between two entries this holds a
   * cursor and one page.
   */
  async *follow(
    stream: string,
    after: number,
    signal: AbortSignal,
    read: (after: number) => Promise<Entry[]>,
  ): AsyncGenerator<Entry> {
    const ended = AbortSignal.any([signal, this.#ended.signal]);
    let news = Promise.withResolvers<void>();
    const wake = () => news.resolve();
    ended.addEventListener('abort', wake);
    const wakes = this.#wakes.get(stream) ?? new Set();
    this.#wakes.set(stream, wakes.add(wake));
    try {
      for (let cursor = after; !ended.aborted; ) {
        // Before the read, so that what is appended during it wakes the wait that follows.
        news = Promise.withResolvers();
        const page = await read(cursor);
        for (const entry of page) {
          if (ended.aborted) return;
          cursor = entry.seq;
          yield entry;
        }
        if (page.length === 0) await news.promise;
      }
    } catch (error) {
      // A store that was closed meanwhile cannot be read any more; that ends a subscription like its signal does.
      if (!this.#ended.signal.aborted) throw error;
    } finally {
      wakes.delete(wake);
      if (wakes.size === 0) this.#wakes.delete(stream);
    }
  }

  /** Whether anyone follows it. */
  has(stream: string): boolean {
    return this.#wakes.has(stream);
  }

  /** The stream has grown. */
  wake(stream: string): void {
    for (const wake of this.#wakes.get(stream) ?? []) wake();
  }

  /** Any stream may have grown. */
  wakeAll(): void {
    for (const stream of this.#wakes.keys()) this.wake(stream);
  }

  /** Ends every subscription, and those that begin later at once. */
  end(): void {
    this.#ended.abort();
  }
}
