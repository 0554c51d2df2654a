import type { DurableObjectStorage, SqlStorageValue } from '@cloudflare/workers-types';
import { RelayError } from '../../base/errors.ts';
import { type Commits, type Numbers, type Operation, Transaction } from '../sqlite/commit-queue.ts';
import type { SqlDriver, Statement } from '../sqlite/driver.ts';

/**
 * Tables of a Durable Object. The names are those of `sqlite/schema.ts`. The platform charges for each written row of
 * a table or an index, so tables are stored in the order of their keys and have few indexes. A sweep finds expired
 * rows by a scan: reading a row costs a thousandth of writing one.
 */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS counter (one INTEGER PRIMARY KEY CHECK (one = 1), value INTEGER NOT NULL);
  INSERT OR IGNORE INTO counter VALUES (1, 0);
  CREATE TABLE IF NOT EXISTS blobs (
    key TEXT PRIMARY KEY, size INTEGER NOT NULL, sha256 TEXT NOT NULL, blocks BLOB NOT NULL, at INTEGER NOT NULL,
    expires INTEGER, body BLOB NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS records (
    key TEXT PRIMARY KEY, revision INTEGER NOT NULL, expires INTEGER, value TEXT NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS streams (id INTEGER PRIMARY KEY, name TEXT UNIQUE, trimmed INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS entries (
    stream INTEGER NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, id TEXT, data TEXT NOT NULL,
    PRIMARY KEY (stream, seq)
  ) WITHOUT ROWID;
  CREATE UNIQUE INDEX IF NOT EXISTS entries_id ON entries (stream, id) WHERE id IS NOT NULL;
  CREATE TABLE IF NOT EXISTS documents (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, scope TEXT NOT NULL, fields TEXT NOT NULL, text TEXT NOT NULL
  );
  CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (
    scope, text, content = 'documents', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2', prefix = '1'
  );
`;

/** Error of a write to a Durable Object that has reached its maximum size. */
const FULL = /SQLITE_FULL|database or disk is full/;

type Storage = Pick<DurableObjectStorage, 'sql' | 'transactionSync'>;

/** The SQLite database of a Durable Object. No other process uses it, so it is never busy. */
export class ObjectDatabase implements SqlDriver {
  readonly #storage: Storage;

  constructor(storage: Storage) {
    this.#storage = storage;
    storage.sql.exec(SCHEMA);
  }

  sql<Row>(text: string): Statement<Row> {
    const { sql } = this.#storage;
    const exec = (values: readonly unknown[]) => sql.exec(text, ...(values as SqlStorageValue[]));
    return {
      get: (...values) => exec(values).toArray()[0] as Row | undefined,
      all: (...values) => exec(values).toArray() as Row[],
      iterate: (...values) => exec(values)[Symbol.iterator]() as unknown as IterableIterator<Row>,
      run(...values) {
        exec(values);
        const figure = (of: string) => Number(sql.exec(`SELECT ${of} AS figure`).one().figure);
        return {
          get changes() {
            return figure('changes()');
          },
          get lastInsertRowid() {
            return figure('last_insert_rowid()');
          },
        };
      },
    };
  }

  async retryWhileBusy<T>(work: () => T): Promise<T> {
    return work();
  }

  transaction<T>(work: () => T): T {
    return this.#storage.transactionSync(work);
  }

  /** Size of the database in bytes. */
  get bytes(): number {
    return this.#storage.sql.databaseSize;
  }
}

/**
 * Runs each operation in a transaction of its own, at once. The platform holds back every answer until the writes
 * before it are durable.
 */
export class ObjectCommits implements Commits {
  readonly #db: ObjectDatabase;
  readonly #numbers: ReservedNumbers;
  readonly #committed: (streams: ReadonlySet<string>) => void;

  /** `committed` runs after each transaction with the names of the changed streams. */
  constructor(db: ObjectDatabase, committed: (streams: ReadonlySet<string>) => void) {
    this.#db = db;
    this.#numbers = new ReservedNumbers(db);
    this.#committed = committed;
  }

  async run<T>(operation: Operation<T>): Promise<T> {
    const tx = new Transaction(this.#numbers);
    let answer: T;
    try {
      answer = this.#db.transaction(() => {
        const made = operation(tx);
        tx.prepareCommit();
        return made;
      });
    } catch (error) {
      tx.rollBackTo(0);
      this.#numbers.forget();
      throw FULL.test(String(error))
        ? new RelayError('store_full', { what: 'the Durable Object is full' })
        : error;
    }
    tx.committed();
    if (tx.streams.size > 0) this.#committed(tx.streams);
    return answer;
  }

  free<T>(operation: Operation<T>): Promise<T> {
    return this.run(operation);
  }
}

/** How many numbers one write of the counter reserves. If the object is evicted, its unused numbers are skipped. */
const RESERVED_AT_ONCE = 64;

class ReservedNumbers implements Numbers {
  readonly #db: ObjectDatabase;
  #last = 0;
  #reserved = 0;

  constructor(db: ObjectDatabase) {
    this.#db = db;
  }

  next(): number {
    if (this.#last === this.#reserved) {
      const sql = 'UPDATE counter SET value = value + ? RETURNING value';
      this.#reserved = this.#db.sql<{ value: number }>(sql).get(RESERVED_AT_ONCE)!.value;
      this.#last = this.#reserved - RESERVED_AT_ONCE;
    }
    return ++this.#last;
  }

  skipTo(number: number): void {
    this.#db.sql('UPDATE counter SET value = max(value, ?)').run(number);
    this.forget();
  }

  save(): void {
    // Numbers are written when they are reserved.
  }

  /** Reads the counter again before the next number, because a rollback may have undone a reservation. */
  forget(): void {
    this.#last = this.#reserved = 0;
  }
}
