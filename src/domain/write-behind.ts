import type { Env } from '../base/env.ts';
import { USAGE_WAITING, USAGE_WRITE_MS } from '../base/limits.ts';
import type { Engine } from '../kernel/engine.ts';
import { compareAndSet } from '../kernel/records.ts';
import { allRecords, type RecordOf, type RecordsOf, recordsOf } from './records.ts';

export interface WriteBehindOptions<T> {
  /**
   * Time in ms between the first update and the write. Updates that arrive in this time are written together.
   */
  readonly delayMs: number;
  /** Maximum number of keys with waiting updates. Updates of further keys are dropped to limit memory. */
  readonly most: number;
  merge(older: T, newer: T): T;
  write(key: string, value: T): Promise<unknown>;
}

/**
 * Collects updates that no caller waits for. Updates with the same key are merged in memory and written in
 * a batch shortly afterwards. A crash loses the updates that are still in memory. So this class is used for
 * figures and receipts, which may be too low, but not for quotas. An update whose write fails is retried
 * with the next batch.
 */
export class WriteBehind<T> {
  readonly #engine: Pick<Engine, 'defer'>;
  readonly #o: WriteBehindOptions<T>;
  #waiting = new Map<string, T>();
  #isDue = false;
  #writing: Promise<void> = Promise.resolve();

  constructor(engine: Pick<Engine, 'defer'>, o: WriteBehindOptions<T>) {
    this.#engine = engine;
    this.#o = o;
  }

  note(key: string, value: T): void {
    const older = this.#waiting.get(key);
    if (older === undefined && this.#waiting.size >= this.#o.most) return;
    this.#waiting.set(key, older === undefined ? value : this.#o.merge(older, value));
    this.#schedule();
  }

  /**
   * Starts all waiting writes in the same tick, so that an engine with group commit commits them together.
   * Never rejects.
   */
  flush(): Promise<void> {
    this.#isDue = false;
    this.#writing = this.#writing.then(async () => {
      const batch = this.#waiting;
      this.#waiting = new Map();
      await Promise.all(Array.from(batch, ([key, value]) => this.#write(key, value)));
    });
    return this.#writing;
  }

  async #write(key: string, value: T): Promise<void> {
    try {
      await this.#o.write(key, value);
    } catch {
      const newer = this.#waiting.get(key);
      this.#waiting.set(key, newer === undefined ? value : this.#o.merge(value, newer));
      this.#schedule();
    }
  }

  #schedule(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#engine.defer(() => this.flush(), this.#o.delayMs);
  }
}

/** Lists of numbers by name. Two lists with the same name are added element by element. */
export type Sums = { readonly [name: string]: readonly number[] };

interface SumOptions {
  /** Time in ms after its last write at which a record expires. */
  readonly keptMs: number;
  /** Called after each write with the numbers that it added and the new revision of the record. */
  written?(key: string, added: Sums, revision: number): void;
}

/**
 * Records that contain sums. They are write-behind, so a crash loses the additions of the last seconds. Several servers
 * may add to one record.
 */
export class SumRecords {
  readonly #records: RecordsOf<Sums>;
  readonly #behind: WriteBehind<Sums>;

  constructor({ engine, env }: { engine: Engine; env: Pick<Env, 'now'> }, { keptMs, written }: SumOptions) {
    this.#records = recordsOf(engine.records);
    this.#behind = new WriteBehind(engine, {
      delayMs: USAGE_WRITE_MS,
      most: USAGE_WAITING,
      merge: addSums,
      write: async (key, sums) => {
        const revision = await compareAndSet('the figures', async () => {
          const stored = await this.#records.get(key);
          const o = { expect: stored?.revision ?? ('absent' as const), expiresAt: env.now() + keptMs };
          return this.#records.put(key, addSums(stored?.value ?? {}, sums), o);
        });
        written?.(key, sums, revision);
      },
    });
  }

  add(key: string, sums: Sums): void {
    this.#behind.note(key, sums);
  }

  /** Writes all waiting sums. Never rejects: failed writes are retried later. */
  flush(): Promise<void> {
    return this.#behind.flush();
  }

  all(prefix: string, o: { after?: string } = {}): AsyncGenerator<RecordOf<Sums>> {
    return allRecords(this.#records, prefix, o);
  }
}

function addSums(sum: Sums, more: Sums): Sums {
  const both = Object.entries(more).map(([name, numbers]) => [
    name,
    numbers.map((number, at) => number + (sum[name]?.[at] ?? 0)),
  ]);
  return { ...sum, ...Object.fromEntries(both) };
}
