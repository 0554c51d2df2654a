import type { SQLInputValue, SQLOutputValue, StatementResultingChanges } from 'node:sqlite';

/** A prepared statement with the type of its rows. */
export interface Statement<Row> {
  get(...values: SQLInputValue[]): Row | undefined;
  all(...values: SQLInputValue[]): Row[];
  iterate(...values: SQLInputValue[]): IterableIterator<Row>;
  run(...values: SQLInputValue[]): StatementResultingChanges;
}

/** A synchronous SQLite connection: `node:sqlite` on a machine, or the storage of a Durable Object. */
export interface SqlDriver {
  sql<Row = Record<string, SQLOutputValue>>(text: string): Statement<Row>;
  /** Runs `work`, and repeats it while other processes hold the lock. */
  retryWhileBusy<T>(work: () => T): Promise<T>;
}
