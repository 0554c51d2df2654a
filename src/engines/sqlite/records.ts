import type { Json } from '../../base/json.ts';
import { pause } from '../../base/pause.ts';
import type {
  AddOptions,
  PutOptions,
  RecordItem,
  RecordPage,
  Records,
  Staged,
  Stored,
} from '../../kernel/records.ts';
import {
  addToCounter,
  checkDelta,
  checkExpiry,
  checkKey,
  checkLimit,
  checkScope,
  encodeJson,
  type KeyRange,
  keyRange,
} from '../../kernel/validate-input.ts';
import { type RowStore, StagedWrite, stagedBytes, type Transaction, writeStaged } from './commit-queue.ts';
import type { SqliteLogs } from './logs.ts';

/** Number of JSON characters after which a page ends early, with `next`. */
const PAGE_CHARS = 4 * 1024 * 1024;

/** Maximum number of rows that one page of a search reads, so that a search blocks other requests only briefly. */
const SEARCHED_ROWS = 10_000;

/** Writes a record. Parameters: key, revision, expiry or null, JSON. */
export const WRITE_RECORD = `INSERT INTO records (key, revision, expires, value) VALUES (?, ?, ?, ?)
  ON CONFLICT (key) DO UPDATE SET revision = excluded.revision, expires = excluded.expires, value = excluded.value`;

interface Row {
  readonly key: string;
  readonly revision: number;
  readonly value: string;
}

/** Records in SQLite. Revisions come from the store's single counter. */
export class SqliteRecords implements Records {
  readonly #store: RowStore;
  readonly #logs: SqliteLogs;

  constructor(store: RowStore, logs: SqliteLogs) {
    this.#store = store;
    this.#logs = logs;
  }

  async get(key: string): Promise<Stored | null> {
    checkKey('a key', key);
    const row = await this.#store.db.retryWhileBusy(() => this.#live(key));
    return row ? stored(row) : null;
  }

  async put(key: string, value: Json, o: PutOptions = {}): Promise<number | null> {
    checkKey('a key', key);
    checkExpiry(o.expiresAt);
    const json = encodeJson('a record', value, this.#store.limits.recordBytes);
    const together = o.append ? [...(o.with ?? []), this.#logs.stageEntry(o.append)] : o.with;
    return this.#store.queue.run(
      (tx) => {
        if (o.expect !== undefined && o.expect !== (this.#live(key)?.revision ?? 'absent')) return null;
        writeStaged(tx, together);
        return this.#write(tx, key, json, o.expiresAt);
      },
      json.length + stagedBytes(together),
      o.frees,
    );
  }

  async stage(key: string, value: Json): Promise<Staged> {
    checkKey('a key', key);
    const json = encodeJson('a record', value, this.#store.limits.recordBytes);
    return new StagedWrite(key, (tx) => void this.#write(tx, key, json, undefined), json.length);
  }

  async add(key: string, delta: number, o: AddOptions = {}): Promise<number | null> {
    checkKey('a key', key);
    checkDelta(delta);
    checkExpiry(o.expiresAt);
    return this.#store.queue.run(
      (tx) => {
        const row = this.#live(key);
        const sum = addToCounter(row ? JSON.parse(row.value) : 0, delta, o.max);
        if (sum === null) return null;
        if (!row) this.#write(tx, key, String(sum), o.expiresAt);
        else
          this.#store.db
            .sql('UPDATE records SET value = ?, revision = ? WHERE key = ?')
            .run(String(sum), tx.next(), key);
        return sum;
      },
      0,
      o.frees,
    );
  }

  async delete(key: string, o: { expect?: number } = {}): Promise<boolean> {
    checkKey('a key', key);
    return this.#store.queue.free(() => {
      const row = this.#live(key);
      if (!row || (o.expect !== undefined && o.expect !== row.revision)) return false;
      this.#store.db.sql('DELETE FROM records WHERE key = ?').run(key);
      return true;
    });
  }

  async list(
    prefix: string,
    o: { after?: string; limit?: number; contains?: string } = {},
  ): Promise<RecordPage> {
    checkScope('the prefix of a listing', prefix);
    const limit = checkLimit(o.limit);
    // A search reads many rows. Between two pages, other requests get their turn.
    if (o.contains !== undefined && o.after !== undefined) await pause(0);
    return this.#store.db.retryWhileBusy(() => this.#page(keyRange(prefix, o.after), limit, o.contains));
  }

  #page(range: KeyRange, limit: number, contains: string | undefined): RecordPage {
    const { where, from } = range;
    const end = contains === undefined ? undefined : this.#searchEnd(range);
    // Use only one upper bound: SQLite would check a second one per row and read to the end of the range.
    const to = end === undefined ? range.to : `${end}\0`;
    const sql = `SELECT key, revision, value FROM records WHERE ${where} AND (expires IS NULL OR expires > ?)
      ${contains === undefined ? '' : 'AND instr(value, ?) > 0'} ORDER BY key`;
    const parameters = contains === undefined ? [] : [contains];
    const items: RecordItem[] = [];
    let chars = 0;
    for (const row of this.#store.db.sql<Row>(sql).iterate(from, to, this.#store.env.now(), ...parameters)) {
      if (items.length === limit || chars > PAGE_CHARS) return { items, next: items.at(-1)!.key };
      items.push({ key: row.key, ...stored(row) });
      chars += row.value.length;
    }
    return { items, ...(end === undefined ? {} : { next: end }) };
  }

  /**
   * Returns the last key that one page of a search reads. Returns undefined if the page reaches the end of the range.
   */
  #searchEnd({ where, from, to }: KeyRange): string | undefined {
    const sql = `SELECT key FROM records WHERE ${where} ORDER BY key LIMIT 1 OFFSET ${SEARCHED_ROWS - 1}`;
    return this.#store.db.sql<Row>(sql).get(from, to)?.key;
  }

  #live(key: string): Row | undefined {
    const sql = 'SELECT revision, value FROM records WHERE key = ? AND (expires IS NULL OR expires > ?)';
    return this.#store.db.sql<Row>(sql).get(key, this.#store.env.now());
  }

  #write(tx: Transaction, key: string, json: string, expiresAt: number | undefined): number {
    const revision = tx.next();
    this.#store.db.sql(WRITE_RECORD).run(key, revision, expiresAt ?? null, json);
    return revision;
  }
}

function stored(row: Row): Stored {
  return { value: JSON.parse(row.value), revision: row.revision };
}
