import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { pause } from '../../base/pause.ts';
import type { Hit } from '../../kernel/search-index.ts';
import { FullText, segmented, type TextDatabase, type TextStatement } from '../full-text.ts';
import type { IndexJob } from '../index-thread.ts';
import { loadSqlite } from '../node-sqlite.ts';
import { translated } from './failure.ts';

/** Nobody waits on this thread but the caller of the job, so it may block until the lock is free. */
const BUSY_TIMEOUT_MS = 5_000;

/** The connections of this thread, by file and mode. They end with the thread. */
const connections = new Map<string, Connection>();

export async function runIndexJob(job: IndexJob): Promise<Hit[]> {
  try {
    if (job.search) {
      const { scope, query, limit } = job.search;
      return new FullText(connectionTo(job.file, true), folderWord).search(scope, query, limit);
    }
    await applyChanges(job);
    return [];
  } catch (error) {
    throw translated(error, job.file);
  }
}

async function applyChanges({ file, changes = [], yields }: IndexJob): Promise<void> {
  const connection = connectionTo(file, false);
  const texts = new FullText(connection, folderWord);
  const began = performance.now();
  connection.transaction(() => {
    for (const { key, text, fields } of changes) {
      if (text === null) texts.remove(key);
      else texts.put(key, segmented(text), fields);
    }
  });
  if (yields) await pause(performance.now() - began);
}

function connectionTo(file: string, readOnly: boolean): Connection {
  const name = `${file} ${readOnly ? 'r' : 'w'}`;
  const connection = connections.get(name) ?? new Connection(file, readOnly);
  connections.set(name, connection);
  return connection;
}

function folderWord(folder: string): string {
  return process.getBuiltinModule('node:crypto').hash('sha256', folder, 'hex').slice(0, 32);
}

class Connection implements TextDatabase {
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(file: string, readOnly: boolean) {
    const { DatabaseSync } = loadSqlite();
    this.#db = new DatabaseSync(file, { readOnly });
    this.#db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}; PRAGMA cache_size = -8192`);
    if (!readOnly) this.#db.exec('PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON');
  }

  sql<Row>(text: string): TextStatement<Row> {
    let statement = this.#statements.get(text);
    if (!statement) {
      statement = this.#db.prepare(text);
      this.#statements.set(text, statement);
    }
    return statement as unknown as TextStatement<Row>;
  }

  transaction(work: () => void): void {
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      work();
      this.#db.exec('COMMIT');
    } catch (error) {
      try {
        this.#db.exec('ROLLBACK');
      } catch {
        // SQLite has rolled back by itself.
      }
      throw error;
    }
  }
}
