import type { Blobs } from './blobs.ts';
import type { Entry, Logs } from './logs.ts';
import type { Moving } from './moving.ts';
import type { Records } from './records.ts';
import type { SearchIndex } from './search-index.ts';

/** Limits and other properties of an engine. */
export interface EngineLimits {
  /** Maximum size of one record as JSON, in bytes. Callers store larger values as a blob. */
  readonly recordBytes: number;
  /** Maximum size of one log entry as JSON, in bytes. */
  readonly entryBytes: number;
  /** Maximum size of one blob in bytes. */
  readonly blobBytes: number;
  /**
   * Maximum size in bytes of one text in the search index. Absent if the engine has no such limit and indexes even the
   * largest artifact completely.
   */
  readonly indexedBytes?: number;
  /**
   * The strongest failure that an acknowledged write survives: `none` survives nothing, `process` the end of the
   * process, `power` a power cut, `quorum` the loss of a minority of the nodes.
   */
  readonly durability: 'none' | 'process' | 'power' | 'quorum';
}

/** Amount of data in a store. */
export interface Usage {
  readonly blobs: { readonly count: number; readonly bytes: number };
  readonly records: number;
  readonly entries: number;
  /** Total bytes on disk; 0 if the engine has no disk. */
  readonly diskBytes: number;
  /** Used bytes and storage limit of the store. Absent if the store has no limit. */
  readonly quota?: { readonly usedBytes: number; readonly limitBytes: number };
  /**
   * Bucket that holds the large blobs. `name` includes the prefix of all object names of this store. `bytes`
   * includes orphans; it is null if the bucket did not answer.
   */
  readonly bucket?: { readonly name: string; readonly bytes: number | null };
  /** Metrics that only this engine has, for `GET /metrics`. */
  readonly figures?: readonly Figure[];
}

/**
 * A metric: its name, a sentence about it, and its value, or one value per set of labels. The name of a counter ends
 * with `_total`.
 */
export type Figure = readonly [name: string, help: string, value: number | readonly LabelledValue[]];

export interface LabelledValue {
  readonly labels: { readonly [name: string]: string };
  readonly value: number;
}

/** Number of blobs and records that a sweep deleted, and number of bytes of these blobs. */
export interface SweepResult {
  readonly blobs: number;
  readonly records: number;
  readonly bytes: number;
  /**
   * Orphans that the sweep did not delete yet, because an upload may still use them. `bytes` is 0 if the engine does
   * not know their size. Absent if there are none.
   */
  readonly waiting?: { readonly count: number; readonly bytes: number };
}

/** Health of the store, for operators. */
export interface EngineState {
  /** Kind and location of the store, without secrets. */
  readonly engine: string;
  /** Number of copies of the data. Null if the platform decides it. */
  readonly replicas: number | null;
  /** Leader node of the cluster. Null if there is no leader, absent if there is no cluster. */
  readonly leader?: string | null;
  /** Number of log entries that this process has not received yet. */
  readonly backlog?: number;
  /**
   * How far this machine's clock is ahead of the cluster's clock, in ms. Negative if it is behind, absent if there is
   * no cluster.
   */
  readonly clockAheadMs?: number;
  /** Problems that the operator should know or fix, one sentence each. */
  readonly warnings: readonly string[];
  /** Important facts that this process cannot observe, one sentence each. */
  readonly unseen?: readonly string[];
}

/**
 * An open store with its ports. An engine rejects input that it cannot store (`too_large`, `bad_request`); it never
 * truncates or drops input silently. `validate-input.ts` defines the valid keys, page limits and values. Keys are
 * ordered by their UTF-8 bytes. Data becomes invisible as soon as it expires. Closing an engine twice is allowed.
 */
export interface Engine extends AsyncDisposable {
  readonly blobs: Blobs;
  readonly records: Records;
  readonly logs: Logs;
  readonly index: SearchIndex;
  readonly limits: EngineLimits;
  /** Export and import, for moving the store to another engine. Absent if the platform does not support it. */
  readonly moving?: Moving;
  /** Returns the time in ms since the epoch. Expiry, leases and entry timestamps use this clock. */
  readonly now: () => number;
  /**
   * Runs background work, such as write-behind, after at most `afterMs`. An engine may run the work earlier. Closing
   * the engine runs the remaining work. Errors are ignored, so callers must not rely on the work.
   */
  defer(work: () => Promise<unknown>, afterMs?: number): void;
  /** Deletes expired data and the remains of failed writes. Any process may call it at any time. */
  sweep(): Promise<SweepResult>;
  /** Counts what the store contains. Only `diskBytes` includes expired data. */
  usage(): Promise<Usage>;
  /** Returns the health of the store. */
  state(): Promise<EngineState>;
}

/**
 * Maximum number of rounds in which a closing engine runs deferred work. Some work defers itself again, such as a
 * retry on a full disk. Work that is left after the last round is dropped.
 */
const CLOSING_ROUNDS = 10;

/** Implements `Engine.defer` with timers, for engines in a long-lived process. */
export class DeferredWork {
  readonly #waiting = new Set<() => void>();
  readonly #running = new Set<Promise<void>>();

  /** Starts the work after `afterMs`, or immediately if `afterMs` is 0. */
  defer(work: () => Promise<unknown>, afterMs = 0): void {
    if (afterMs <= 0) {
      this.#run(work);
      return;
    }
    const begin = () => {
      clearTimeout(timer);
      this.#waiting.delete(begin);
      this.#run(work);
    };
    const timer = setTimeout(begin, afterMs);
    // Closing the engine runs the remaining work, so this timer does not have to keep the process alive.
    (timer as { unref?: () => void }).unref?.();
    this.#waiting.add(begin);
  }

  /**
   * Runs all waiting work now, including work that is deferred while it runs, in at most `CLOSING_ROUNDS` rounds.
   * Resolves when the work of these rounds has ended.
   */
  async settle(): Promise<void> {
    for (let round = 0; round < CLOSING_ROUNDS; round++) {
      for (const begin of [...this.#waiting]) begin();
      while (this.#running.size > 0) await Promise.all(this.#running);
      if (this.#waiting.size === 0) return;
    }
  }

  #run(work: () => Promise<unknown>): void {
    const running = ignoreErrors(work).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }
}

async function ignoreErrors(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch {
    // Ignore the error: nothing may depend on deferred work (see `Engine.defer`).
  }
}

/** The subscribers of this process, and the loop of reading and waiting that all engines use. */
export class Followers {
  readonly #wakes = new Map<string, Set<() => void>>();
  readonly #ended = new AbortController();

  /** Number of streams with at least one subscriber. */
  get streams(): number {
    return this.#wakes.size;
  }

  /**
   * Yields the entries after `after`, then waits for new ones until the signal aborts. `read` returns the next page
   * after a sequence number. At most one page is held in memory.
   */
  async *follow(
    stream: string,
    after: number,
    signal: AbortSignal,
    read: (after: number) => Promise<Entry[]>,
  ): AsyncGenerator<Entry> {
    const ended = AbortSignal.any([signal, this.#ended.signal]);
    let grown = Promise.withResolvers<void>();
    const wake = () => grown.resolve();
    ended.addEventListener('abort', wake);
    const wakes = this.#wakes.get(stream) ?? new Set();
    this.#wakes.set(stream, wakes.add(wake));
    try {
      for (let cursor = after; !ended.aborted; ) {
        // Reset before the read: an entry appended during the read must end the wait below.
        grown = Promise.withResolvers();
        const page = await read(cursor);
        for (const entry of page) {
          if (ended.aborted) return;
          cursor = entry.seq;
          yield entry;
        }
        if (page.length === 0) await grown.promise;
      }
    } catch (error) {
      // If the store was closed during the read, end the subscription without an error.
      if (!this.#ended.signal.aborted) throw error;
    } finally {
      wakes.delete(wake);
      if (wakes.size === 0) this.#wakes.delete(stream);
    }
  }

  /** Returns whether the stream has a subscriber. */
  has(stream: string): boolean {
    return this.#wakes.has(stream);
  }

  /** Wakes the subscribers of a stream that has new entries. */
  wake(stream: string): void {
    for (const wake of this.#wakes.get(stream) ?? []) wake();
  }

  /** Wakes all subscribers, because any stream may have new entries. */
  wakeAll(): void {
    for (const stream of this.#wakes.keys()) this.wake(stream);
  }

  /** Ends every subscription. Later subscriptions end immediately. */
  end(): void {
    this.#ended.abort();
  }
}
