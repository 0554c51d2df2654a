import type { SqlStorage } from '@cloudflare/workers-types';
import type { Json } from '../../base/json.ts';
import { addToCounter, keyRange } from '../../kernel/validate-input.ts';

export type RecordRow = {
  readonly key: string;
  readonly value: string;
  readonly revision: number;
  readonly expires: number | null;
};

/** Records in one Durable Object. The values stay JSON text; the Worker parses them. */
export class RecordRows {
  readonly #sql: SqlStorage;
  readonly #counter: Counter;

  constructor(sql: SqlStorage, counter: Counter) {
    this.#sql = sql;
    this.#counter = counter;
    sql.exec(`CREATE TABLE IF NOT EXISTS records (
      key TEXT PRIMARY KEY, revision INTEGER NOT NULL, expires INTEGER, value TEXT NOT NULL
    ) WITHOUT ROWID`);
    // Older versions of the relay had this index, which cost a second row per write. Now a sweep finds expired rows
    // by a scan.
    sql.exec('DROP INDEX IF EXISTS records_expires');
  }

  get(key: string, now: number): RecordRow | null {
    const sql = 'SELECT * FROM records WHERE key = ? AND (expires IS NULL OR expires > ?)';
    return this.#sql.exec<RecordRow>(sql, key, now).toArray()[0] ?? null;
  }

  /** Writes a record. Returns its revision, or null if `expect` does not match. */
  put(
    key: string,
    value: string,
    { expect, expiresAt, now }: { expect?: 'absent' | number; expiresAt?: number; now: number },
  ): number | null {
    if (expect !== undefined && expect !== (this.get(key, now)?.revision ?? 'absent')) return null;
    return this.#write(key, value, expiresAt ?? null);
  }

  /**
   * Adds `delta` to a counter and returns the sum. Returns null if the sum would be above `max` or below 0, and `not
   * a counter` if the record is not a counter.
   */
  add(
    key: string,
    delta: number,
    { max, expiresAt, now }: { max?: number; expiresAt?: number; now: number },
  ): number | null | 'not a counter' {
    const row = this.get(key, now);
    const value: Json = row ? JSON.parse(row.value) : 0;
    if (!Number.isSafeInteger(value)) return 'not a counter';
    const sum = addToCounter(value, delta, max);
    if (sum !== null) this.#write(key, String(sum), row ? row.expires : (expiresAt ?? null));
    return sum;
  }

  delete(key: string, expect: number | undefined, now: number): boolean {
    const row = this.get(key, now);
    if (!row || (expect !== undefined && expect !== row.revision)) return false;
    this.#sql.exec('DELETE FROM records WHERE key = ?', key);
    return true;
  }

  list(prefix: string, after: string | undefined, limit: number, now: number): RecordRow[] {
    const { where, from, to } = keyRange(prefix, after);
    const sql = `SELECT * FROM records WHERE ${where} AND (expires IS NULL OR expires > ?) ORDER BY key LIMIT ?`;
    return this.#sql.exec<RecordRow>(sql, from, to, now, limit).toArray();
  }

  /** Deletes expired records and returns their number. */
  sweep(now: number): number {
    return this.#sql.exec('DELETE FROM records WHERE expires <= ? RETURNING key', now).toArray().length;
  }

  count(): number {
    return this.#sql.exec<{ n: number }>('SELECT count(*) AS n FROM records').one().n;
  }

  nextExpiry(): number | null {
    return this.#sql.exec<{ at: number | null }>('SELECT min(expires) AS at FROM records').one().at;
  }

  #write(key: string, value: string, expires: number | null): number {
    const revision = this.#counter.next();
    const sql = 'INSERT OR REPLACE INTO records (key, revision, expires, value) VALUES (?, ?, ?, ?)';
    this.#sql.exec(sql, key, revision, expires, value);
    return revision;
  }
}

/**
 * Number of revisions and sequence numbers that one write reserves. If the object is evicted, its unused numbers are
 * skipped.
 */
const RESERVED_AT_ONCE = 32;

/**
 * Source of the revisions and sequence numbers of one Durable Object. The numbers always increase and are never
 * reused.
 */
export class Counter {
  readonly #sql: SqlStorage;
  #last = 0;
  #reserved = 0;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(
      'CREATE TABLE IF NOT EXISTS counter (one INTEGER PRIMARY KEY CHECK (one = 1), value INTEGER NOT NULL)',
    );
    sql.exec('INSERT OR IGNORE INTO counter VALUES (1, 0)');
  }

  next(): number {
    if (this.#last === this.#reserved) {
      const sql = 'UPDATE counter SET value = value + ? RETURNING value';
      this.#reserved = this.#sql.exec<{ value: number }>(sql, RESERVED_AT_ONCE).one().value;
      this.#last = this.#reserved - RESERVED_AT_ONCE;
    }
    return ++this.#last;
  }
}
