import { closeSync, existsSync, linkSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
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

/**
 * Maximum size of the WAL in bytes after many writes. SQLite truncates the file to this size when it starts to
 * overwrite the WAL.
 */
const WAL_LIMIT_BYTES = 64 * 1024 * 1024;

/**
 * Opens the database in `home`; creates or migrates it if necessary. Rejects a database that is damaged, belongs to
 * another program, or has a newer format, and leaves it unchanged. A server syncs commits itself
 * (`Database.syncWal`), so that its event loop does not block. With `alone`, opens the database even on a full disk,
 * but no other process can then use it.
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
    // Opening a database that has no WAL or journal does not change it, so `checkFormat` below is enough.
    const isClean = existsSync(path) && !existsSync(`${path}-wal`) && !existsSync(`${path}-journal`);
    if (!isClean && !(await isStore(path))) createDatabase(path, power);
    let opened = new Database(path);
    db = opened;
    // In exclusive mode, SQLite keeps the WAL index in memory and needs no shared file, for which a full disk
    // has no room.
    if (o.alone) opened.exec('PRAGMA locking_mode = EXCLUSIVE');
    // Unlike `isStore`, this connection also reads the WAL, which may contain a newer format number.
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
    // Read a value, so that a damaged schema fails now and not at the first write.
    await opened.retryWhileBusy(() => opened.sql('SELECT value FROM counter').get());
    return opened;
  } catch (error) {
    db?.close();
    throw translateError(error, path);
  }
}

/**
 * Returns whether a store exists at this path. Throws if the file is damaged or not a relay store. Never changes the
 * file.
 */
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
      // While another process checkpoints its WAL, the file may be shorter than its header says. Opening it will show
      // whether it is damaged.
      if (wal > 0 || sizeOf(`${path}-wal`) > 0) return true;
      if (round > 0) throw found;
    }
    await pause(50);
  }
}

/** Checks the file without its WAL: application id, format, and length. */
function checkFile(path: string): void {
  using db = new Database(path, { immutable: true });
  checkFormat(db);
}

/**
 * Creates the database under a temporary name and links it to its final name when it is complete, so that no process
 * sees a partial file. If several processes do this at once, all of them use the file that was linked first.
 */
function createDatabase(path: string, durable: boolean): void {
  const drafts = join(dirname(path), DRAFTS);
  makeFolder(drafts, durable);
  const draft = join(drafts, `${DATABASE_FILE}-${process.pid}-${performance.now()}`);
  try {
    // SQLite gives the WAL and its index the permissions of the database file.
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

/** Maximum time in ms to wait until other processes close the store. CLI commands end soon; a server does not. */
const MIGRATION_TIMEOUT_MS = 2000;

/**
 * Migrates the store to the current format and keeps a copy of the old database. Waits until no other process has the
 * store open, because an older program would misread the new format. If this process is killed, the next process that
 * opens the store migrates it. Calls `warn` with one sentence after the migration.
 */
async function migrateWhenUnused(path: string, warn: (what: string) => void): Promise<void> {
  for (const began = performance.now(); ; ) {
    try {
      const copy = isOlder(path) ? migrateExclusively(path) : null;
      if (copy !== null)
        warn(
          `The store was migrated from format ${copy.format} to format ${FORMAT}, which older versions cannot read. ` +
            `A copy of the old database is kept for a week: ${copy.path}`,
        );
      return;
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (performance.now() - began > MIGRATION_TIMEOUT_MS) throw inUseError(path);
    }
    await pause(20 + Math.random() * 30);
  }
}

/**
 * Returns whether the store has an older format. Closes the database at once, so that waiting processes do not block
 * each other.
 */
function isOlder(path: string): boolean {
  using db = new Database(path);
  return checkFormat(db) < FORMAT;
}

/**
 * Migrates the store. Returns the path and format of the copy of the old database, or null if another process
 * migrated it first.
 */
function migrateExclusively(path: string): { readonly path: string; readonly format: number } | null {
  using db = new Database(path);
  // From the first read until close, no other process can have the database open.
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

/**
 * Copies the database completely or not at all. A sweep deletes the copy after a week, because it also contains data
 * that was deleted since.
 */
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

/**
 * Runs the missing migration steps. A step that replaces a table drops the triggers that block writes after a move,
 * so they are created again.
 */
export function migrate(db: Database): void {
  const triggers = db.sql<{ name: string; sql: string }>(
    "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'",
  );
  const before = triggers.all();
  for (const step of STEPS.slice(pragma(db, 'user_version'))) db.exec(step);
  const remaining = new Set(triggers.all().map(({ name }) => name));
  for (const { name, sql } of before) if (!remaining.has(name)) db.exec(sql);
  db.exec(`PRAGMA user_version = ${FORMAT}`);
}

/** Returns the format of the store. Throws if it is not a relay store or has a newer format. */
export function checkFormat(db: Database): number {
  if (pragma(db, 'page_count') === 0) throw new RelayError('store_damaged', { what: `${db.path} is empty` });
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
    hint: 'Stop that process, for example with relay down. The store is then migrated automatically.',
  });
}

/** Size of the reserve file in bytes: enough for SQLite's WAL and shared-memory file and a few hundred deletions. */
const RESERVE_BYTES = 1024 * 1024;

/**
 * A file of zeros that reserves disk space. On a full disk it is deleted, so that deletions and revocations can still
 * be written. Other writes are rejected until there is room for the file again.
 */
export class Reserve {
  readonly #path: string;
  /** True if the file exists. False while the disk has no room for it. */
  held = false;

  constructor(home: string) {
    this.#path = join(home, 'relay.db-reserve');
  }

  /** Creates the file if it is missing and the disk has room. */
  ensure(): void {
    this.held = true;
    if (existsSync(this.#path)) return;
    try {
      const file = openSync(this.#path, 'wx', 0o600);
      try {
        for (let left = RESERVE_BYTES; left > 0; ) left -= writeSync(file, Buffer.alloc(left));
      } finally {
        closeSync(file);
      }
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // Ignore other errors. The store itself reports them.
      if (code === 'ENOSPC' || code === 'EDQUOT') this.release();
    }
  }

  /** Deletes the file to free its space. */
  release(): void {
    rmSync(this.#path, { force: true });
    this.held = false;
  }

  /** Returns the warning that `Engine.state` reports while there is no reserve file. */
  warning(): string {
    const { message, hint } = this.fullError();
    return `${message.replace('Nothing was stored', 'Nothing new is stored')} ${hint}`;
  }

  /** Returns the error for writes while there is no reserve file. */
  fullError(): RelayError {
    return new RelayError('store_full', { what: `the disk under ${dirname(this.#path)} is full` });
  }
}
