import { closeSync, existsSync, linkSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isRelayError, RelayError } from '../../base/errors.ts';
import { pause } from '../../base/pause.ts';
import type { EngineLimits } from '../../kernel/engine.ts';
import { DRAFTS } from './body-files.ts';
import { Database } from './database.ts';
import { fsyncFileSync, fsyncFolderSync, makeFolder } from './fsync.ts';
import { APPLICATION_ID, FORMAT, PAGE_BYTES, STEPS } from './schema.ts';
import { isBusy, translateError } from './translate-error.ts';

export const DATABASE_FILE = 'relay.db';

/** A WAL that a burst has made longer is cut back to this when it starts anew. */
const WAL_LIMIT_BYTES = 64 * 1024 * 1024;

/**
 * Opens the database in `home`, making or migrating it where needed. One that belongs to another program, is of a
 * newer format or damaged is refused and left exactly as it is. A server waits for the disk by itself (`Database.syncWal`), so
 * that its loop goes on meanwhile. `alone`: needs no room on the disk, and keeps other processes out for as long as it is open.
 */
export async function openDatabase(
  home: string,
  durability: EngineLimits['durability'],
  role: 'server' | 'cli',
  warn: (what: string) => void = () => {},
  o: { readonly alone?: boolean } = {},
): Promise<Database> {
  const path = join(home, DATABASE_FILE);
  const power = durability === 'power';
  let db: Database | undefined;
  try {
    if (!(await isStore(path))) createDatabase(path, power);
    let opened = new Database(path);
    db = opened;
    // SQLite then keeps the index of the WAL in memory, where it would make a file that other processes share.
    if (o.alone) opened.exec('PRAGMA locking_mode = EXCLUSIVE');
    // Once more, now with what the WAL says.
    if ((await opened.retryWhileBusy(() => checkFormat(opened))) < FORMAT) {
      opened.close();
      await migrateWhenUnused(path, warn);
      db = opened = new Database(path);
    }
    const settings = `
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = ${power && role === 'cli' ? 'FULL' : 'NORMAL'};
      ${power && process.platform === 'darwin' ? 'PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON;' : ''}
      PRAGMA secure_delete = ON;
      PRAGMA journal_size_limit = ${WAL_LIMIT_BYTES};
      PRAGMA cache_size = ${role === 'server' ? -16384 : -2048};
    `;
    await opened.retryWhileBusy(() => opened.exec(settings));
    // Touches the schema, so that damage there shows now and not with the first write.
    await opened.retryWhileBusy(() => opened.sql('SELECT value FROM counter').get());
    return opened;
  } catch (error) {
    db?.close();
    throw translateError(error, path);
  }
}

/** False where there is nothing. What is there and is not ours, or not whole, is an error, and was only looked at. */
export async function isStore(path: string): Promise<boolean> {
  for (let round = 0; ; round++) {
    const wal = sizeOf(`${path}-wal`);
    if (!existsSync(path)) return false;
    try {
      checkFile(path);
      return true;
    } catch (error) {
      const found = translateError(error, path);
      if (!isRelayError(found, 'store_damaged')) throw found;
      // While others copy their WAL into it the file may be shorter than it says; then opening it will tell.
      if (wal > 0 || sizeOf(`${path}-wal`) > 0) return true;
      if (round > 0) throw found;
    }
    await pause(50);
  }
}

/** Whose it is, from the first page of the file, and whether the file is as long as that says. */
function checkFile(path: string): void {
  using db = new Database(path, { immutable: true });
  if (pragma(db, 'page_count') === 0) throw new RelayError('store_damaged', { what: `${path} is empty` });
  checkFormat(db);
}

/**
 * Made whole under another name and then given its own, so that nobody ever sees half of it and the file itself
 * says from its first moment whose it is. Of several who do so at once one wins, and all use what it made.
 */
function createDatabase(path: string, durable: boolean): void {
  const drafts = join(dirname(path), DRAFTS);
  makeFolder(drafts, durable);
  const draft = join(drafts, `${DATABASE_FILE}-${process.pid}-${performance.now()}`);
  try {
    // SQLite gives its other files the permissions of this one.
    closeSync(openSync(draft, 'wx', 0o600));
    {
      using db = new Database(draft);
      db.exec(`
        PRAGMA synchronous = OFF; PRAGMA page_size = ${PAGE_BYTES}; PRAGMA auto_vacuum = INCREMENTAL;
        PRAGMA application_id = ${APPLICATION_ID}
      `);
      migrate(db);
      db.exec('PRAGMA journal_mode = WAL');
    }
    if (durable) fsyncFileSync(draft);
    linkSync(draft, path);
    if (durable) fsyncFolderSync(dirname(path));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    for (const end of ['', '-journal', '-wal', '-shm']) rmSync(draft + end, { force: true });
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** How long to wait for those who have the store open: commands end soon, a server does not. */
const MIGRATION_TIMEOUT_MS = 2000;

/**
 * Brings the store at `path` to our format, with a copy of the database as it was beside it. Only while no other process
 * has it open: a program that knows the older format would misread the newer one. Killed at any moment, it is done by
 * whoever opens the store next. Who does it is told so in a sentence.
 */
async function migrateWhenUnused(path: string, warn: (what: string) => void): Promise<void> {
  for (const began = performance.now(); ; ) {
    try {
      const copy = isOlder(path) ? migrateExclusively(path) : null;
      if (copy !== null)
        warn(
          `The store was brought from format ${copy.format} to format ${FORMAT}, which older versions cannot read. ` +
            `The database as it was is kept for a week: ${copy.path}`,
        );
      return;
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (performance.now() - began > MIGRATION_TIMEOUT_MS) throw inUseError(path);
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
function migrateExclusively(path: string): { readonly path: string; readonly format: number } | null {
  using db = new Database(path);
  // From the first read until it is closed: nobody else has it open, and nobody can open it.
  db.exec('PRAGMA locking_mode = EXCLUSIVE');
  const format = checkFormat(db);
  const copy = format < FORMAT ? { path: `${path}-format-${format}`, format } : null;
  if (copy !== null) {
    copyBeforeMigration(db, copy.path);
    db.exec('BEGIN');
    migrate(db);
    db.exec('COMMIT');
  }
  db.sql('PRAGMA wal_checkpoint(TRUNCATE)').get();
  return copy;
}

/** Whole or not at all. The copy holds what is deleted later, too, so a sweep takes it away after a while. */
function copyBeforeMigration(db: Database, copy: string): void {
  const drafts = join(dirname(copy), DRAFTS);
  makeFolder(drafts, true);
  const draft = join(drafts, `copy-${process.pid}-${performance.now()}`);
  try {
    closeSync(openSync(draft, 'wx', 0o600));
    db.sql('VACUUM INTO ?').run(draft);
    fsyncFileSync(draft);
    renameSync(draft, copy);
    fsyncFolderSync(dirname(copy));
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

function pragma(db: Database, name: 'application_id' | 'user_version' | 'page_count'): number {
  return Object.values(db.sql(`PRAGMA ${name}`).get()!)[0] as number;
}

function inUseError(path: string): RelayError {
  return new RelayError('busy', {
    what: `it has an older format, and another process has ${path} open`,
    hint: 'Stop that process first, for example with relay down; then the store is brought forward by itself.',
  });
}
