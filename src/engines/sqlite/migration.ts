import { closeSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { RelayError } from '../../base/errors.ts';
import { pause } from '../../base/pause.ts';
import { DRAFTS } from './body-files.ts';
import { Database } from './database.ts';
import { isBusy } from './failure.ts';
import { APPLICATION_ID, FORMAT, STEPS } from './schema.ts';
import { makeFolder, syncFileNow, syncFolderNow } from './syncing.ts';

/** How long to wait for those who have the store open: commands end soon, a server does not. */
const PATIENCE_MS = 2000;

/**
 * Brings the store at `path` to our format, with a copy of the database as it was beside it. Only while no other process
 * has it open: a program that knows the older format would misread the newer one. Killed at any moment, it is done by
 * whoever opens the store next. Who does it is told so in a sentence.
 */
export async function bringForward(path: string, tell: (what: string) => void): Promise<void> {
  for (const began = performance.now(); ; ) {
    try {
      const copy = isOlder(path) ? bringForwardNow(path) : null;
      if (copy !== null)
        tell(
          `The store was brought from format ${copy.format} to format ${FORMAT}, which older versions cannot read. ` +
            `The database as it was is kept for a week: ${copy.path}`,
        );
      return;
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (performance.now() - began > PATIENCE_MS) throw inUse(path);
    }
    await pause(20 + Math.random() * 30);
  }
}

/** Closed again at once, so that of several who want to bring it forward none is in the way of the others. */
function isOlder(path: string): boolean {
  using db = new Database(path);
  return checkFormat(db) < FORMAT;
}

/** Gives the copy of what it was; null where another process was faster. */
function bringForwardNow(path: string): { readonly path: string; readonly format: number } | null {
  using db = new Database(path);
  // From the first read until it is closed: nobody else has it open, and nobody can open it.
  db.exec('PRAGMA locking_mode = EXCLUSIVE');
  const format = checkFormat(db);
  const copy = format < FORMAT ? { path: `${path}-format-${format}`, format } : null;
  if (copy !== null) {
    keepCopy(db, copy.path);
    db.exec('BEGIN');
    migrate(db);
    db.exec('COMMIT');
  }
  db.sql('PRAGMA wal_checkpoint(TRUNCATE)').get();
  return copy;
}

/** Whole or not at all. The copy holds what is deleted later, too, so a sweep takes it away after a while. */
function keepCopy(db: Database, copy: string): void {
  const drafts = join(dirname(copy), DRAFTS);
  makeFolder(drafts, true);
  const draft = join(drafts, `copy-${process.pid}-${performance.now()}`);
  try {
    closeSync(openSync(draft, 'wx', 0o600));
    db.sql('VACUUM INTO ?').run(draft);
    syncFileNow(draft);
    renameSync(draft, copy);
    syncFolderNow(dirname(copy));
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Step by step, from whatever format it has. */
export function migrate(db: Database): void {
  for (const step of STEPS.slice(pragma(db, 'user_version'))) db.exec(step);
  db.exec(`PRAGMA user_version = ${FORMAT}`);
}

/** The format, if it is one of ours. */
export function checkFormat(db: Database): number {
  if (pragma(db, 'application_id') !== APPLICATION_ID)
    throw new RelayError('store_foreign', { path: db.path });
  const found = pragma(db, 'user_version');
  if (found > FORMAT) throw new RelayError('store_newer', { path: db.path, found, known: FORMAT });
  return found;
}

export function pragma(db: Database, name: 'application_id' | 'user_version' | 'page_count'): number {
  return Object.values(db.sql(`PRAGMA ${name}`).get()!)[0] as number;
}

function inUse(path: string): RelayError {
  return new RelayError('busy', {
    what: `it has an older format, and another process has ${path} open`,
    hint: 'Stop that process first, for example with relay down; then the store is brought forward by itself.',
  });
}
