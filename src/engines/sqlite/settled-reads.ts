import type { CommitQueue } from './commit-queue.ts';
import type { Database } from './database.ts';

/** What an entry takes besides its key and its text, roughly, so that many small ones count as well. */
export const ENTRY_CHARS = 256;

/**
 * What was read since the last commit: for as long as nobody writes, the same question has the same answer. Another
 * connection's commit changes SQLite's `data_version`; those of this connection do not, so they are counted.
 */
export class SettledReads<T> {
  readonly #db: Pick<Database, 'dataVersion'>;
  readonly #queue: Pick<CommitQueue, 'commits'>;
  readonly #max: number;
  readonly #held = new Map<string, T>();
  #weight = 0;
  #version = Number.NaN;
  #commits = 0;

  /** `max` limits what all entries may take together, in characters. */
  constructor(db: Pick<Database, 'dataVersion'>, queue: Pick<CommitQueue, 'commits'>, max: number) {
    this.#db = db;
    this.#queue = queue;
    this.#max = max;
  }

  get(key: string): T | undefined {
    const version = this.#dataVersion();
    if (version !== this.#version || this.#queue.commits !== this.#commits) {
      this.#version = version;
      this.#commits = this.#queue.commits;
      this.#clear();
    }
    return this.#held.get(key);
  }

  /** To be called after `get` found nothing, in the same turn as the read, so that the value is never older than the version. */
  set(key: string, value: T, chars: number): void {
    const weight = ENTRY_CHARS + key.length + chars;
    if (weight > this.#max / 8) return;
    if (this.#weight + weight > this.#max) this.#clear();
    this.#held.set(key, value);
    this.#weight += weight;
  }

  /** NaN, which equals nothing, where SQLite cannot say: the read that follows waits, or says what is wrong. */
  #dataVersion(): number {
    try {
      return this.#db.dataVersion();
    } catch {
      return Number.NaN;
    }
  }

  #clear(): void {
    if (this.#held.size === 0) return;
    this.#held.clear();
    this.#weight = 0;
  }
}
