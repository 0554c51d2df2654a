import type { Json } from '../../base/json.ts';
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
import { StagedWrite, type Store, stagedBytes, type Transaction, writeStaged } from './commit-queue.ts';
import type { SqliteLogs } from './logs.ts';

/** Maximum number of JSON characters of a page. If there are more, the page ends early and sets `next`. */
const PAGE_CHARS = 4 * 1024 * 1024;

interface Row {
  readonly key: string;
  readonly revision: number;
  readonly value: string;
}

/** Records in SQLite. Revisions come from the store's single counter. */
export class SqliteRecords implements Records {
  readonly #store: Store;
  readonly #logs: SqliteLogs;

  constructor(store: Store, logs: SqliteLogs) {
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

  async list(prefix: string, o: { after?: string; limit?: number } = {}): Promise<RecordPage> {
    checkScope('the prefix of a listing', prefix);
    const limit = checkLimit(o.limit);
    return this.#store.db.retryWhileBusy(() => this.#page(keyRange(prefix, o.after), limit));
  }

  #page({ where, from, to }: KeyRange, limit: number): RecordPage {
    const sql = `SELECT key, revision, value FROM records WHERE ${where}
      AND (expires IS NULL OR expires > ?) ORDER BY key`;
    const items: RecordItem[] = [];
    let chars = 0;
    for (const row of this.#store.db.sql<Row>(sql).iterate(from, to, this.#store.env.now())) {
      if (items.length === limit || chars > PAGE_CHARS) return { items, next: items.at(-1)!.key };
      items.push({ key: row.key, ...stored(row) });
      chars += row.value.length;
    }
    return { items };
  }

  #live(key: string): Row | undefined {
    const sql = 'SELECT revision, value FROM records WHERE key = ? AND (expires IS NULL OR expires > ?)';
    return this.#store.db.sql<Row>(sql).get(key, this.#store.env.now());
  }

  #write(tx: Transaction, key: string, json: string, expiresAt: number | undefined): number {
    const sql = `INSERT INTO records (key, revision, expires, value) VALUES (?, ?, ?, ?)
      ON CONFLICT (key) DO UPDATE SET revision = excluded.revision, expires = excluded.expires, value = excluded.value`;
    const revision = tx.next();
    this.#store.db.sql(sql).run(key, revision, expiresAt ?? null, json);
    return revision;
  }
}

function stored(row: Row): Stored {
  return { value: JSON.parse(row.value), revision: row.revision };
}
