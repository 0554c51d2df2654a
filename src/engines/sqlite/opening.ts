import { closeSync, existsSync, linkSync, openSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isRelayError, RelayError } from '../../base/errors.ts';
import { pause } from '../../base/pause.ts';
import type { EngineLimits } from '../../kernel/engine.ts';
import { DRAFTS } from './body-files.ts';
import { Database } from './database.ts';
import { translated } from './failure.ts';
import { bringForward, checkFormat, migrate, pragma } from './migration.ts';
import { APPLICATION_ID, FORMAT, PAGE_BYTES } from './schema.ts';
import { makeFolder, syncFileNow, syncFolderNow } from './syncing.ts';

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
    if ((await opened.patiently(() => checkFormat(opened))) < FORMAT) {
      opened.close();
      await bringForward(path, warn);
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
    await opened.patiently(() => opened.exec(settings));
    // Touches the schema, so that damage there shows now and not with the first write.
    await opened.patiently(() => opened.sql('SELECT value FROM counter').get());
    return opened;
  } catch (error) {
    db?.close();
    throw translated(error, path);
  }
}

/** False where there is nothing. What is there and is not ours, or not whole, is an error, and was only looked at. */
export async function isStore(path: string): Promise<boolean> {
  for (let round = 0; ; round++) {
    const wal = sizeOf(`${path}-wal`);
    if (!existsSync(path)) return false;
    try {
      check(path);
      return true;
    } catch (error) {
      const found = translated(error, path);
      if (!isRelayError(found, 'store_damaged')) throw found;
      // While others copy their WAL into it the file may be shorter than it says; then opening it will tell.
      if (wal > 0 || sizeOf(`${path}-wal`) > 0) return true;
      if (round > 0) throw found;
    }
    await pause(50);
  }
}

/** Whose it is, from the first page of the file, and whether the file is as long as that says. */
function check(path: string): void {
  using db = new Database(path, { asItIs: true });
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
    if (durable) syncFileNow(draft);
    linkSync(draft, path);
    if (durable) syncFolderNow(dirname(path));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    for (const end of ['', '-journal', '-wal', '-shm']) rmSync(draft + end, { force: true });
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
