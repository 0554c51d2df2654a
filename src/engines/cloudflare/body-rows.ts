import type { SqlStorage } from '@cloudflare/workers-types';
import { keyRange } from '../../kernel/validate-input.ts';

/** Row of a blob. It contains either the bytes or the name of the object in the bucket. */
export type BodyRow = {
  readonly key: string;
  readonly size: number;
  readonly at: number;
  readonly expires: number | null;
  readonly sha256: string;
  /** Block checksums (`src/kernel/block-hashes.ts`). */
  readonly blocks: ArrayBuffer;
  readonly bytes: ArrayBuffer | null;
  readonly name: string | null;
};

export type BodyItem = Pick<BodyRow, 'key' | 'size' | 'at'>;

/**
 * Time in ms for which an object stays in the bucket after the last reference to it, so that running reads can
 * finish.
 */
const READERS_MS = 50_000;
/** Maximum time in ms between the start of an upload and the commit of its row. */
const UPLOAD_MS = 60 * 60 * 1000;

/**
 * Blobs in one Durable Object. The table `bucket` contains the name of every R2 object: a name is added before the
 * upload and removed after the deletion, so no object is forgotten. `due` is the time at which an object without a
 * row is deleted.
 */
export class BodyRows {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(`CREATE TABLE IF NOT EXISTS bodies (
      key TEXT PRIMARY KEY, size INTEGER NOT NULL, at INTEGER NOT NULL, expires INTEGER, sha256 TEXT NOT NULL,
      blocks BLOB NOT NULL, bytes BLOB, name TEXT
    ) WITHOUT ROWID`);
    // Older versions had this index. It costs a second row per write, so it is dropped (see `records_expires` in
    // `record-rows.ts`).
    sql.exec('DROP INDEX IF EXISTS bodies_expires');
    sql.exec('CREATE TABLE IF NOT EXISTS bucket (name TEXT PRIMARY KEY, due INTEGER) WITHOUT ROWID');
    sql.exec('CREATE INDEX IF NOT EXISTS bucket_due ON bucket (due) WHERE due IS NOT NULL');
  }

  /** Records an object name before its upload. */
  announce(name: string, now: number): void {
    this.#sql.exec('INSERT OR REPLACE INTO bucket (name, due) VALUES (?, ?)', name, now + UPLOAD_MS);
  }

  /** Returns the row of a blob. Returns null if the blob does not exist or has expired. */
  get(key: string, now: number): BodyRow | null {
    const sql = 'SELECT * FROM bodies WHERE key = ? AND (expires IS NULL OR expires > ?)';
    return this.#sql.exec<BodyRow>(sql, key, now).toArray()[0] ?? null;
  }

  /** Stores a row. Returns false if the upload took so long that its object was deleted. */
  put({ key, size, at, expires, sha256, blocks, bytes, name }: BodyRow): boolean {
    if (name !== null) {
      const sql = 'UPDATE bucket SET due = NULL WHERE name = ? RETURNING name';
      if (this.#sql.exec(sql, name).toArray().length === 0) return false;
    }
    const insert = () => {
      const sql = `INSERT OR IGNORE INTO bodies (key, size, at, expires, sha256, blocks, bytes, name)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;
      return this.#sql.exec(sql, key, size, at, expires, sha256, blocks, bytes, name).rowsWritten > 0;
    };
    if (!insert()) {
      this.delete(key, at);
      insert();
    }
    return true;
  }

  /** Deletes a blob. Its R2 object is deleted after `READERS_MS`. */
  delete(key: string, now: number): void {
    const sql = 'DELETE FROM bodies WHERE key = ? RETURNING name';
    for (const { name } of this.#sql.exec<{ name: string | null }>(sql, key)) this.#release(name, now);
  }

  list(prefix: string, after: string | undefined, limit: number, now: number): BodyItem[] {
    const { where, from, to } = keyRange(prefix, after);
    const sql = `SELECT key, size, at FROM bodies WHERE ${where} AND (expires IS NULL OR expires > ?)
      ORDER BY key LIMIT ?`;
    return this.#sql.exec<BodyItem>(sql, from, to, now, limit).toArray();
  }

  /** Deletes expired rows. Their R2 objects are deleted later, at their `due` time. */
  sweep(now: number): { blobs: number; bytes: number } {
    const sql = 'DELETE FROM bodies WHERE expires <= ? RETURNING size, name';
    const rows = this.#sql.exec<{ size: number; name: string | null }>(sql, now).toArray();
    for (const { name } of rows) this.#release(name, now);
    return { blobs: rows.length, bytes: rows.reduce((sum, { size }) => sum + size, 0) };
  }

  /** Returns the names of objects that can be deleted from the bucket now. */
  due(now: number, limit: number): string[] {
    const sql = 'SELECT name FROM bucket WHERE due <= ? LIMIT ?';
    return this.#sql
      .exec<{ name: string }>(sql, now, limit)
      .toArray()
      .map(({ name }) => name);
  }

  /** Removes the names of deleted objects from the table `bucket`. */
  forget(names: readonly string[]): void {
    for (const name of names) this.#sql.exec('DELETE FROM bucket WHERE name = ?', name);
  }

  total(): { count: number; bytes: number } {
    const sql = 'SELECT count(*) AS count, coalesce(sum(size), 0) AS bytes FROM bodies';
    return this.#sql.exec<{ count: number; bytes: number }>(sql).one();
  }

  nextExpiry(): number | null {
    return this.#sql.exec<{ at: number | null }>('SELECT min(expires) AS at FROM bodies').one().at;
  }

  /** Returns the time at which the next object must be deleted from the bucket, or null. */
  nextDue(): number | null {
    return this.#sql.exec<{ at: number | null }>('SELECT min(due) AS at FROM bucket').one().at;
  }

  #release(name: string | null, now: number): void {
    if (name !== null) this.#sql.exec('UPDATE bucket SET due = ? WHERE name = ?', now + READERS_MS, name);
  }
}
