import type { SqlStorage } from '@cloudflare/workers-types';

/** The numbers that an object gives to revisions and entries: they grow, whatever is deleted meanwhile. */
export class Counter {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(
      'CREATE TABLE IF NOT EXISTS counter (one INTEGER PRIMARY KEY CHECK (one = 1), value INTEGER NOT NULL)',
    );
    sql.exec('INSERT OR IGNORE INTO counter VALUES (1, 0)');
  }

  next(): number {
    const sql = 'UPDATE counter SET value = value + 1 RETURNING value';
    return this.#sql.exec<{ value: number }>(sql).one().value;
  }
}
