import type { Deps } from '../deps.ts';
import { allRecords, recordsOf } from '../records.ts';

const HOUR = 3_600_000;

/** Up to which hour all that was due has been dropped. */
const DONE = 'sys/receipts-due';
const streamOf = (hour: number) => `rcpdue.${hour}`;

/** Where earlier versions had it: by the moment at which they are to be dropped. */
const FORMER = 'sys.rcp/';

/** Dropped at once. */
const TOGETHER = 500;

/**
 * Which receipts are to be dropped when: a log for each hour, so that nothing has to be listed, which on some engines takes
 * ever longer the more pointers there are.
 */
export class DueReceipts {
  readonly #deps: Pick<Deps, 'engine' | 'env'>;
  /** Null where they can go; else when to ask again. */
  readonly #dropAt: (pointer: string) => Promise<number | null>;
  readonly #drop: (pointer: string) => Promise<void>;
  #began = false;
  #tookOver = false;

  constructor(
    deps: Pick<Deps, 'engine' | 'env'>,
    o: { dropAt(pointer: string): Promise<number | null>; drop(pointer: string): Promise<void> },
  ) {
    this.#deps = deps;
    this.#dropAt = o.dropAt;
    this.#drop = o.drop;
  }

  /** The same twice does no harm. */
  async add(pointer: string, dropAt: number): Promise<void> {
    const { records, logs } = this.#deps.engine;
    const before = Math.floor(this.#deps.env.now() / HOUR) - 1;
    // Nothing was ever due before the first of them was added.
    const begin = this.#began ? null : records.put(DONE, before, { expect: 'absent' });
    await Promise.all([begin, logs.append(streamOf(Math.floor(dropAt / HOUR) + 1), pointer)]);
    this.#began = true;
  }

  /**
   * Drops those of the hours that are over, about `most` of them; false where some are left. Begun twice at a time, or broken off,
   * it does no harm either, and goes on where it was.
   */
  async drop(most = Number.POSITIVE_INFINITY): Promise<boolean> {
    const { engine, env } = this.#deps;
    if (!this.#tookOver) await this.#takeOver();
    this.#tookOver = true;
    const done = await engine.records.get(DONE);
    const over = Math.floor(env.now() / HOUR);
    if (!done || Number(done.value) >= over) return true;
    let left = most;
    for (let hour = Number(done.value) + 1; hour <= over; hour++) {
      // An hour with nothing in it takes a look too.
      left -= Math.max(1, await this.#dropHour(hour, left));
      if (left > 0) continue;
      await engine.records.put(DONE, hour - 1, { expect: done.revision });
      return false;
    }
    await engine.records.put(DONE, over, { expect: done.revision });
    return true;
  }

  /** How many it has dropped. */
  async #dropHour(hour: number, most: number): Promise<number> {
    const { logs } = this.#deps.engine;
    const stream = streamOf(hour);
    let count = 0;
    for (;;) {
      const limit = Math.min(TOGETHER, most - count);
      const { entries } = await logs.read(stream, { limit });
      await Promise.all(entries.map(({ data }) => this.#dropOne(String(data))));
      count += entries.length;
      if (entries.length < limit) break;
      await logs.trim(stream, { before: entries.at(-1)!.seq + 1 });
      if (count >= most) return count;
    }
    if (count > 0) await logs.drop(stream);
    return count;
  }

  async #dropOne(pointer: string): Promise<void> {
    const later = await this.#dropAt(pointer);
    // Kept longer than was thought when the first receipt was written.
    if (later === null) await this.#drop(pointer);
    else await this.add(pointer, later);
  }

  async #takeOver(): Promise<void> {
    const records = recordsOf<number>(this.#deps.engine.records);
    for await (const { key } of allRecords(records, FORMER)) {
      const [dropAt, pointer] = key.slice(FORMER.length).split('/') as [string, string];
      await this.add(pointer, Math.max(Number(dropAt), this.#deps.env.now()));
      await records.delete(key);
    }
  }
}
