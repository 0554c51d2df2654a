import { chmodSync, closeSync, existsSync, openSync } from 'node:fs';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { keyRange } from '../../kernel/validate-input.ts';
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

/** Names that are written at once, between which others run. */
const STEP = 2_000;

/** A folder whose names are known here up to a sequence of its stream. */
export interface Folder {
  readonly id: number;
  /** Of which stream, with when that was made. */
  readonly stream: string;
  /** Negative while its names are still being learnt. */
  readonly seq: number;
}

export interface Name {
  readonly key: string;
  /** Of the last write that was heard of. */
  readonly seq: number;
}

/** What happened to a name: it was written, or what was written there no longer counts. */
export interface Change extends Name {
  readonly live: boolean;
}

/**
 * The names in large folders, in key order, which no server of NATS gives. Every name that there is up to the folder's sequence is
 * here; some that are here are gone, which whoever reads them finds out and tells.
 */
export class Folders {
  readonly #index: LocalIndex;

  constructor(index: LocalIndex) {
    this.#index = index;
  }

  /** By the filter of its subjects. */
  find(filter: string): Folder | undefined {
    const sql = 'SELECT id, stream, seq FROM folders WHERE filter = ?';
    return this.#index.sql<Folder>(sql).get(filter);
  }

  /** One that is to be learnt; what was known of it before, of another stream, is forgotten. */
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

  async add(folder: Folder, keys: readonly string[], seq: number): Promise<void> {
    for (let at = 0; at < keys.length; at += STEP) {
      this.#index.commit(() => {
        for (const key of keys.slice(at, at + STEP)) this.#put(folder, { key, seq });
      });
      await new Promise(setImmediate);
    }
  }

  /** All names up to a sequence are there. */
  learnt(folder: Folder, seq: number): void {
    this.#index.sql('UPDATE folders SET seq = ? WHERE id = ? AND seq < 0').run(seq, folder.id);
  }

  /** What happened behind the folder's sequence, up to another; nothing where somebody else has told it meanwhile. */
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

  /** Those behind `after` that begin with the prefix. */
  page(folder: Folder, prefix: string, after: string | undefined, limit: number): Name[] {
    const { where, from, to } = keyRange(prefix, after);
    const sql = `SELECT key, seq FROM names WHERE folder = ? AND ${where} ORDER BY key LIMIT ?`;
    return [...this.#index.sql<Name>(sql).iterate(folder.id, from, to, limit)];
  }

  /** Names that are gone, unless they were written again since. */
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
