import { setImmediate } from 'node:timers/promises';
import { pause } from '../../base/pause.ts';
import type { BodyFault } from '../../kernel/block-hashes.ts';
import { faultOf, type StoredBody } from './body-check.ts';
import type { Store } from './store.ts';

/** A server reads so much every so often: less than a megabyte a second, which no disk feels. */
const EVERY_MS = 5_000;
const AT_ONCE_BYTES = 4 * 1024 * 1024;

/** What looks damaged is looked at again after this: it may be being replaced. */
const AGAIN_MS = 100;

export interface CheckedBody {
  readonly key: string;
  /** Its file, relative to the home; null for one inside the database. */
  readonly file: string | null;
  readonly size: number;
  readonly fault: BodyFault | null;
}

interface Row extends StoredBody {
  readonly id: number;
  readonly key: string;
}

/** Reads every body whole, one after the other, from behind the row `after` on, while others go on writing. */
export async function* checkBodies(store: Store, after = 0): AsyncGenerator<CheckedBody & { id: number }> {
  const { db, env } = store;
  const sql = `SELECT id, key, size, sha256, file, offset, blocks, body FROM blobs
    WHERE id > ? AND (expires IS NULL OR expires > ?) ORDER BY id LIMIT 1`;
  const same = 'SELECT 1 FROM blobs WHERE id = ? AND sha256 = ? AND file IS ? AND offset IS ?';
  for (let from = after; ; ) {
    const row = await db.patiently(() => db.sql<Row>(sql).get(from, env.now()));
    if (!row) return;
    const { id, key, size, sha256, file, offset } = row;
    let fault = await faultOf(store, row);
    if (fault) {
      await pause(AGAIN_MS);
      // Moved, replaced or deleted meanwhile.
      if (!(await db.patiently(() => db.sql(same).get(id, sha256, file, offset)))) continue;
      fault = await faultOf(store, row);
    }
    from = id;
    yield { id, key, size, file, fault };
  }
}

/** What a server's own reading has come to. */
export interface ScrubState {
  /** Bodies and bytes read since it started. */
  readonly bodies: number;
  readonly bytes: number;
  /** How often it has been through all of them. */
  readonly rounds: number;
  /** Bodies that were damaged when they were last read. */
  readonly damaged: number;
}

/** Reads all bodies over and over, slowly, so that damage is known before somebody needs what is damaged. */
export class Scrub {
  readonly #store: Store;
  readonly #timer: NodeJS.Timeout;
  readonly #damaged = new Set<number>();
  #reading: Promise<void> | undefined;
  #after: number;
  #closed = false;
  #bodies = 0;
  #bytes = 0;
  #rounds = 0;

  constructor(store: Store) {
    this.#store = store;
    // Anywhere, so that servers that live for a day only see all of a large store in the end.
    this.#after = Math.floor((store.env.randomBytes(1)[0]! / 256) * this.#last());
    this.#timer = setInterval(() => void this.step(), EVERY_MS).unref();
  }

  get state(): ScrubState {
    return { bodies: this.#bodies, bytes: this.#bytes, rounds: this.#rounds, damaged: this.#damaged.size };
  }

  /** Never fails: a store that cannot be read says so to whoever asks for something. */
  step(): Promise<void> {
    this.#reading ??= this.#read()
      .catch(() => {})
      .finally(() => {
        this.#reading = undefined;
      });
    return this.#reading;
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    await this.#reading;
  }

  async #read(): Promise<void> {
    const before = this.#bytes;
    for await (const { id, size, fault } of checkBodies(this.#store, this.#after)) {
      // Rows between the two are gone, and so is what was wrong with them.
      for (const other of this.#damaged) if (other > this.#after && other < id) this.#damaged.delete(other);
      this.#after = id;
      this.#bodies++;
      this.#bytes += size;
      if (fault) this.#damaged.add(id);
      else this.#damaged.delete(id);
      if (this.#closed || this.#bytes - before >= AT_ONCE_BYTES) return;
      // Reading from the cache of the system waits for nothing: everyone else gets a turn.
      await setImmediate();
    }
    for (const other of this.#damaged) if (other > this.#after) this.#damaged.delete(other);
    this.#after = 0;
    this.#rounds++;
  }

  #last(): number {
    return this.#store.db.sql<{ last: number | null }>('SELECT max(id) AS last FROM blobs').get()?.last ?? 0;
  }
}
