import type { Env } from '../../base/env.ts';
import { freeze } from '../../base/frozen.ts';
import type { Json } from '../../base/json.ts';
import {
  addTo,
  checkDelta,
  checkExpiry,
  checkKey,
  checkLimit,
  checkScope,
  encodeJson,
} from '../../kernel/admission.ts';
import type {
  AddOptions,
  PutOptions,
  RecordItem,
  RecordPage,
  Records,
  Stored,
} from '../../kernel/records.ts';
import type { CommitQueue, Transaction } from './commit-queue.ts';
import type { Database } from './database.ts';
import { type KeyRange, keyRange } from './names.ts';
import { SettledReads } from './settled-reads.ts';

/** A page of a listing ends early rather than hold more JSON than this; it says so by its `next`. */
const PAGE_CHARS = 4 * 1024 * 1024;

/** Records held in memory while nothing is written: thousands of pointers, in characters. */
const SETTLED_CHARS = 8 * 1024 * 1024;

interface Row {
  readonly key: string;
  readonly revision: number;
  readonly value: string;
  readonly expires: number | null;
}

/** A record as it is given to all who ask for it. */
interface Known {
  readonly stored: Stored;
  readonly expires: number | null;
}

export class SqliteRecords implements Records {
  readonly #db: Database;
  readonly #queue: CommitQueue;
  readonly #env: Env;
  readonly #maxBytes: number;
  readonly #settled: SettledReads<Known>;

  constructor(db: Database, queue: CommitQueue, env: Env, maxBytes: number) {
    this.#db = db;
    this.#queue = queue;
    this.#env = env;
    this.#maxBytes = maxBytes;
    this.#settled = new SettledReads(db, queue, SETTLED_CHARS);
  }

  async get(key: string): Promise<Stored | null> {
    checkKey('a key', key);
    const known = this.#settled.get(key) ?? (await this.#db.patiently(() => this.#read(key)));
    if (!known || (known.expires !== null && known.expires <= this.#env.now())) return null;
    return known.stored;
  }

  async put(key: string, value: Json, o: PutOptions = {}): Promise<number | null> {
    checkKey('a key', key);
    checkExpiry(o.expiresAt);
    const json = encodeJson('a record', value, this.#maxBytes);
    return this.#queue.run((tx) => {
      if (o.expect !== undefined && o.expect !== (this.#revision(key) ?? 'absent')) return null;
      return this.#write(tx, key, json, o.expiresAt);
    }, json.length);
  }

  async add(key: string, delta: number, o: AddOptions = {}): Promise<number | null> {
    checkKey('a key', key);
    checkDelta(delta);
    checkExpiry(o.expiresAt);
    return this.#queue.run((tx) => {
      const row = this.#live(key);
      const sum = addTo(row ? JSON.parse(row.value) : 0, delta, o.max);
      if (sum === null) return null;
      if (!row) this.#write(tx, key, String(sum), o.expiresAt);
      else
        this.#db
          .sql('UPDATE records SET value = ?, revision = ? WHERE key = ?')
          .run(String(sum), tx.next(), key);
      return sum;
    });
  }

  async delete(key: string, o: { expect?: number } = {}): Promise<boolean> {
    checkKey('a key', key);
    return this.#queue.run(() => {
      const revision = this.#revision(key);
      if (revision === undefined || (o.expect !== undefined && o.expect !== revision)) return false;
      this.#db.sql('DELETE FROM records WHERE key = ?').run(key);
      return true;
    });
  }

  async list(prefix: string, o: { after?: string; limit?: number } = {}): Promise<RecordPage> {
    checkScope('the prefix of a listing', prefix);
    const limit = checkLimit(o.limit);
    return this.#db.patiently(() => this.#page(keyRange(prefix, o.after), limit));
  }

  #read(key: string): Known | undefined {
    const row = this.#live(key);
    if (!row) return undefined;
    const { value, revision } = stored(row);
    const known = { stored: Object.freeze({ value: freeze(value), revision }), expires: row.expires };
    this.#settled.set(key, known, row.value.length);
    return known;
  }

  #page({ where, from, to }: KeyRange, limit: number): RecordPage {
    const sql = `SELECT key, revision, value FROM records WHERE ${where}
      AND (expires IS NULL OR expires > ?) ORDER BY key`;
    const items: RecordItem[] = [];
    let chars = 0;
    for (const row of this.#db.sql<Row>(sql).iterate(from, to, this.#env.now())) {
      if (items.length === limit || chars > PAGE_CHARS) return { items, next: items.at(-1)!.key };
      items.push({ key: row.key, ...stored(row) });
      chars += row.value.length;
    }
    return { items };
  }

  #live(key: string): Row | undefined {
    const sql =
      'SELECT revision, value, expires FROM records WHERE key = ? AND (expires IS NULL OR expires > ?)';
    return this.#db.sql<Row>(sql).get(key, this.#env.now());
  }

  #revision(key: string): number | undefined {
    const sql = 'SELECT revision FROM records WHERE key = ? AND (expires IS NULL OR expires > ?)';
    return this.#db.sql<Row>(sql).get(key, this.#env.now())?.revision;
  }

  #write(tx: Transaction, key: string, json: string, expiresAt: number | undefined): number {
    const sql = `INSERT INTO records (key, revision, expires, value) VALUES (?, ?, ?, ?)
      ON CONFLICT (key) DO UPDATE SET revision = excluded.revision, expires = excluded.expires, value = excluded.value`;
    const revision = tx.next();
    this.#db.sql(sql).run(key, revision, expiresAt ?? null, json);
    return revision;
  }
}

function stored(row: Row): Stored {
  return { value: JSON.parse(row.value), revision: row.revision };
}
