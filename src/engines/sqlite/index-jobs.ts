import { pause } from '../../base/pause.ts';
import type { Hit } from '../../kernel/search-index.ts';
import { sha256 } from '../body-hashes.ts';
import { FullText, splitLetters } from '../full-text.ts';
import type { IndexJob } from '../index-thread.ts';
import { Database } from './database.ts';
import { translateError } from './translate-error.ts';

/**
 * Settings of a connection. The thread may block while it waits for the lock, because only the caller of the job
 * waits for the thread.
 */
const PRAGMAS =
  'PRAGMA busy_timeout = 5000; PRAGMA cache_size = -8192; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON';

/** Connections of this thread, by file and mode. They are closed when the thread ends. */
const connections = new Map<string, Database>();

/**
 * Runs a job of the full-text index in this thread. Returns the hits of a search, or an empty list after a change.
 */
export async function runIndexJob(job: IndexJob): Promise<Hit[]> {
  try {
    if (job.search) {
      const { scope, query, limit } = job.search;
      return fullTextOf(connectionTo(job.file, true)).search(scope, query, limit);
    }
    await applyChanges(job);
    return [];
  } catch (error) {
    throw translateError(error, job.file);
  }
}

async function applyChanges({ file, changes = [], yields }: IndexJob): Promise<void> {
  const db = connectionTo(file, false);
  const texts = fullTextOf(db);
  const began = performance.now();
  db.exec('BEGIN IMMEDIATE');
  try {
    for (const { key, text, fields } of changes) {
      if (text === null) texts.remove(key);
      else texts.put(key, splitLetters(text), fields);
    }
    db.exec('COMMIT');
  } catch (error) {
    try {
      db.exec('ROLLBACK');
    } catch {
      // Ignore the error of the rollback: SQLite has already rolled back by itself.
    }
    throw error;
  }
  if (yields) await pause(performance.now() - began);
}

function fullTextOf(db: Database): FullText {
  return new FullText(db, (folder) => sha256(folder).slice(0, 32));
}

function connectionTo(file: string, readOnly: boolean): Database {
  const name = `${file} ${readOnly ? 'r' : 'w'}`;
  let db = connections.get(name);
  if (!db) {
    db = new Database(file, { readOnly });
    db.exec(PRAGMAS);
    connections.set(name, db);
  }
  return db;
}
