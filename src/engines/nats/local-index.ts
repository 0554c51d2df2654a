import { chmodSync, closeSync, existsSync, openSync } from 'node:fs';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { TextDatabase, TextStatement } from '../full-text.ts';
import { loadSqlite } from '../node-sqlite.ts';

/** Another form of the tables, or of what is in them, is built anew. */
const FORMAT = 2;

const TABLES = `
  CREATE TABLE documents (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, scope TEXT NOT NULL, fields TEXT NOT NULL, text TEXT NOT NULL
  );
  CREATE VIRTUAL TABLE words USING fts5 (
    scope, text, content = 'documents', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2', prefix = '1'
  );
  CREATE TABLE place (stream TEXT NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL);
  CREATE TABLE folders (
    id INTEGER PRIMARY KEY, filter TEXT NOT NULL UNIQUE, stream TEXT NOT NULL, seq INTEGER NOT NULL
  );
  CREATE TABLE names (
    folder INTEGER NOT NULL, key TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (folder, key)
  ) WITHOUT ROWID;
  PRAGMA user_version = ${FORMAT};
`;

/**
 * What a server keeps of its own: full text and the names in large folders, in a SQLite file that may be lost at any time. It
 * follows the cluster, and several processes may share it.
 */
export class LocalIndex implements TextDatabase {
  /** Null for one that goes with the process. */
  readonly file: string | null;
  readonly #prepared = new Map<string, StatementSync>();
  #open: DatabaseSync | null = null;

  /** `file` is where it is kept; `:memory:` for one that goes with the process. */
  constructor(file: string) {
    this.file = file === ':memory:' ? null : file;
  }

  sql<Row>(text: string): TextStatement<Row> {
    let statement = this.#prepared.get(text);
    if (!statement) {
      statement = this.#db().prepare(text);
      this.#prepared.set(text, statement);
    }
    return statement as unknown as TextStatement<Row>;
  }

  /** All that the work writes, or nothing of it. */
  commit<T>(work: () => T): T {
    const db = this.#db();
    db.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      db.exec('COMMIT');
      return result;
    } catch (error) {
      db.exec('ROLLBACK');
      throw error;
    }
  }

  close(): void {
    this.#prepared.clear();
    this.#open?.close();
    this.#open = null;
  }

  #db(): DatabaseSync {
    if (this.#open) return this.#open;
    const { DatabaseSync } = loadSqlite();
    if (this.file) makePrivate(this.file);
    const db = new DatabaseSync(this.file ?? ':memory:');
    db.exec('PRAGMA busy_timeout = 2000; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
    const { user_version: format } = db.prepare('PRAGMA user_version').get() as { user_version: number };
    if (format !== FORMAT) {
      for (const table of ['words', 'documents', 'place', 'folders', 'names'])
        db.exec(`DROP TABLE IF EXISTS ${table}`);
      db.exec(TABLES);
    }
    this.#open = db;
    return db;
  }
}

/** It holds the texts of artifacts. SQLite gives its other files the mode of this one; those of an earlier version are put right. */
function makePrivate(file: string): void {
  closeSync(openSync(file, 'a', 0o600));
  for (const end of ['', '-wal', '-shm']) if (existsSync(file + end)) chmodSync(file + end, 0o600);
}
