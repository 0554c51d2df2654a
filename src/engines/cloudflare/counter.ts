import type { SqlStorage } from '@cloudflare/workers-types';

/** Numbers that are taken from the row at once: a write less for most. Those that an object did not use before it slept are passed over. */
const TAKEN_AT_ONCE = 32;

/** The numbers that an object gives to revisions and entries: they grow, whatever is deleted meanwhile. */
export class Counter {
  readonly #sql: SqlStorage;
  #last = 0;
  #taken = 0;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(
      'CREATE TABLE IF NOT EXISTS counter (one INTEGER PRIMARY KEY CHECK (one = 1), value INTEGER NOT NULL)',
    );
    sql.exec('INSERT OR IGNORE INTO counter VALUES (1, 0)');
  }

  next(): number {
    if (this.#last === this.#taken) {
      const sql = 'UPDATE counter SET value = value + ? RETURNING value';
      this.#taken = this.#sql.exec<{ value: number }>(sql, TAKEN_AT_ONCE).one().value;
      this.#last = this.#taken - TAKEN_AT_ONCE;
    }
    return ++this.#last;
  }
}
