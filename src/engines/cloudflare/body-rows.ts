import type { SqlStorage } from '@cloudflare/workers-types';
import { keyRange } from '../../kernel/validate-input.ts';

/** A body as a row: its bytes, or its name in the bucket. */
export type BodyRow = {
  readonly key: string;
  readonly size: number;
  readonly at: number;
  readonly expires: number | null;
  readonly sha256: string;
  /** The hashes of its blocks (`src/kernel/block-hashes.ts`). */
  readonly blocks: ArrayBuffer;
  readonly bytes: ArrayBuffer | null;
  readonly name: string | null;
};

export type BodyItem = Pick<BodyRow, 'key' | 'size' | 'at'>;

/** How long a body in the bucket that nothing refers to any more is left for those who are reading it. */
const READERS_MS = 50_000;
/** An upload that has not become a row by then never will. */
const UPLOAD_MS = 60 * 60 * 1000;

/**
 * Bodies of one object. What is in the bucket is listed in `bucket` before it is put there and as long as it may be there, so that
 * nothing is forgotten in it: a name that no row refers to is deleted when its time has come.
 */
export class BodyRows {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(`CREATE TABLE IF NOT EXISTS bodies (
      key TEXT PRIMARY KEY, size INTEGER NOT NULL, at INTEGER NOT NULL, expires INTEGER, sha256 TEXT NOT NULL,
      blocks BLOB NOT NULL, bytes BLOB, name TEXT
    ) WITHOUT ROWID`);
    // Like `records_expires`.
    sql.exec('DROP INDEX IF EXISTS bodies_expires');
    sql.exec('CREATE TABLE IF NOT EXISTS bucket (name TEXT PRIMARY KEY, due INTEGER) WITHOUT ROWID');
    sql.exec('CREATE INDEX IF NOT EXISTS bucket_due ON bucket (due) WHERE due IS NOT NULL');
  }

  /** A body is about to be put into the bucket under that name. */
  announce(name: string, now: number): void {
    this.#sql.exec('INSERT OR REPLACE INTO bucket (name, due) VALUES (?, ?)', name, now + UPLOAD_MS);
  }

  get(key: string, now: number): BodyRow | null {
    const sql = 'SELECT * FROM bodies WHERE key = ? AND (expires IS NULL OR expires > ?)';
    return this.#sql.exec<BodyRow>(sql, key, now).toArray()[0] ?? null;
  }

  /** False where the upload took so long that its name was given up. */
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

  /** Takes what has expired; what is in the bucket is deleted there when it is due. */
  sweep(now: number): { blobs: number; bytes: number } {
    const sql = 'DELETE FROM bodies WHERE expires <= ? RETURNING size, name';
    const rows = this.#sql.exec<{ size: number; name: string | null }>(sql, now).toArray();
    for (const { name } of rows) this.#release(name, now);
    return { blobs: rows.length, bytes: rows.reduce((sum, { size }) => sum + size, 0) };
  }

  /** Names in the bucket that nothing refers to, and whose readers are gone. */
  due(now: number, limit: number): string[] {
    const sql = 'SELECT name FROM bucket WHERE due <= ? LIMIT ?';
    return this.#sql
      .exec<{ name: string }>(sql, now, limit)
      .toArray()
      .map(({ name }) => name);
  }

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

  /** When a name in the bucket is due. */
  nextDue(): number | null {
    return this.#sql.exec<{ at: number | null }>('SELECT min(due) AS at FROM bucket').one().at;
  }

  #release(name: string | null, now: number): void {
    if (name !== null) this.#sql.exec('UPDATE bucket SET due = ? WHERE name = ?', now + READERS_MS, name);
  }
}
