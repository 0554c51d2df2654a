import { chmodSync, closeSync, existsSync, openSync } from 'node:fs';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { keyRange } from '../../kernel/validate-input.ts';
import type { TextDatabase, TextStatement } from '../full-text.ts';
import { loadSqlite } from '../node-sqlite.ts';

/** Version of the tables and their contents. A file with another version is rebuilt. */
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
 * SQLite file with data that is derived from the cluster: the full-text index and the keys of large folders. It can
 * be deleted at any time, and several processes may share it.
 */
export class LocalIndex implements TextDatabase {
  /** Path of the file, or null for a database in memory. */
  readonly file: string | null;
  readonly #prepared = new Map<string, StatementSync>();
  #open: DatabaseSync | null = null;

  /** `file` is a path, or `:memory:` for a database in memory. */
  constructor(file: string) {
    this.file = file === ':memory:' ? null : file;
  }

  /** Returns a prepared statement. Statements are cached by their text. */
  sql<Row>(text: string): TextStatement<Row> {
    let statement = this.#prepared.get(text);
    if (!statement) {
      statement = this.#db().prepare(text);
      this.#prepared.set(text, statement);
    }
    return statement as unknown as TextStatement<Row>;
  }

  /** Runs `work` in a transaction, which is rolled back if `work` throws. */
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

/**
 * Makes the file private, because it contains texts of artifacts. SQLite keeps further files beside it, and creates
 * them with the mode of the file. Files that already exist are made private too.
 */
function makePrivate(file: string): void {
  closeSync(openSync(file, 'a', 0o600));
  for (const end of ['', '-wal', '-shm']) if (existsSync(file + end)) chmodSync(file + end, 0o600);
}

/** Maximum number of keys per transaction. The event loop runs between two transactions. */
const COMMIT_KEYS = 2_000;

/** A folder whose keys are cached up to a sequence of its stream. */
export interface Folder {
  readonly id: number;
  /** Name and creation time of the stream. */
  readonly stream: string;
  /** Sequence up to which the cache is complete. Negative while the keys are being loaded. */
  readonly seq: number;
}

/** A cached key of a folder. */
export interface Name {
  readonly key: string;
  /** Sequence of the last known write of the key. */
  readonly seq: number;
}

/** A write of a key. `live` is false if the write deleted the item or if the item has expired. */
export interface Change extends Name {
  readonly live: boolean;
}

/**
 * Caches the keys of large folders in key order, because NATS cannot list keys in order. The table contains every key
 * that existed at the folder's sequence. It may also contain keys that no longer exist; a reader that finds one calls
 * `drop`.
 */
export class Folders {
  readonly #index: LocalIndex;

  constructor(index: LocalIndex) {
    this.#index = index;
  }

  /** Returns the cached folder of a subject filter, or undefined. */
  find(filter: string): Folder | undefined {
    const sql = 'SELECT id, stream, seq FROM folders WHERE filter = ?';
    return this.#index.sql<Folder>(sql).get(filter);
  }

  /**
   * Returns the folder of a filter. If there is none, or if it belongs to an older stream, creates a folder whose keys
   * must still be loaded.
   */
  begin(filter: string, stream: string): Folder {
    return this.#index.commit(() => {
      const found = this.find(filter);
      if (found?.stream === stream) return found;
      if (found) {
        this.#index.sql('DELETE FROM names WHERE folder = ?').run(found.id);
        this.#index.sql('DELETE FROM folders WHERE id = ?').run(found.id);
      }
      this.#index.sql('INSERT INTO folders (filter, stream, seq) VALUES (?, ?, -1)').run(filter, stream);
      return this.find(filter)!;
    });
  }

  /** Adds keys that existed at this sequence. */
  async add(folder: Folder, keys: readonly string[], seq: number): Promise<void> {
    for (let at = 0; at < keys.length; at += COMMIT_KEYS) {
      this.#index.commit(() => {
        for (const key of keys.slice(at, at + COMMIT_KEYS)) this.#put(folder, { key, seq });
      });
      await new Promise(setImmediate);
    }
  }

  /** Marks a folder as loaded: it contains all keys up to this sequence. */
  markLoaded(folder: Folder, seq: number): void {
    this.#index.sql('UPDATE folders SET seq = ? WHERE id = ? AND seq < 0').run(seq, folder.id);
  }

  /**
   * Applies the changes after the folder's sequence, up to `upTo`. Does nothing if another process has already
   * applied them.
   */
  change(folder: Folder, changes: readonly Change[], upTo: number): void {
    this.#index.commit(() => {
      const sql = 'SELECT seq FROM folders WHERE id = ?';
      if (this.#index.sql<{ seq: number }>(sql).get(folder.id)?.seq !== folder.seq) return;
      for (const change of changes) {
        if (change.live) this.#put(folder, change);
        else this.#drop(folder, change);
      }
      this.#index.sql('UPDATE folders SET seq = ? WHERE id = ?').run(upTo, folder.id);
    });
  }

  /** Returns the keys after `after` that start with the prefix, in key order. */
  page(folder: Folder, prefix: string, after: string | undefined, limit: number): Name[] {
    const { where, from, to } = keyRange(prefix, after);
    const sql = `SELECT key, seq FROM names WHERE folder = ? AND ${where} ORDER BY key LIMIT ?`;
    return [...this.#index.sql<Name>(sql).iterate(folder.id, from, to, limit)];
  }

  /** Removes keys that no longer exist. Keeps a key that was written again meanwhile. */
  drop(folder: Folder, names: readonly Name[]): void {
    if (names.length === 0) return;
    this.#index.commit(() => {
      for (const name of names) this.#drop(folder, name);
    });
  }

  #put({ id }: Folder, { key, seq }: Name): void {
    const sql = `INSERT INTO names (folder, key, seq) VALUES (?, ?, ?)
      ON CONFLICT DO UPDATE SET seq = max(seq, excluded.seq)`;
    this.#index.sql(sql).run(id, key, seq);
  }

  #drop({ id }: Folder, { key, seq }: Name): void {
    this.#index.sql('DELETE FROM names WHERE folder = ? AND key = ? AND seq <= ?').run(id, key, seq);
  }
}
