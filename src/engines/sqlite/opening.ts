import { closeSync, fstatSync, fsyncSync, linkSync, openSync, readSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { RelayError } from '../../base/errors.ts';
import type { EngineLimits } from '../../kernel/engine.ts';
import { DRAFTS } from './body-files.ts';
import { Database } from './database.ts';
import { translated } from './failure.ts';
import { FolderSync } from './folder-sync.ts';
import { APPLICATION_ID, FORMAT, PAGE_BYTES, STEPS } from './schema.ts';

export const DATABASE_FILE = 'relay.db';

/** A WAL that a burst has made longer is cut back to this when it starts anew. */
const WAL_LIMIT_BYTES = 64 * 1024 * 1024;

const HEADER_BYTES = 100;
const MAGIC = 'SQLite format 3\0';

/** What the first bytes of the file say, read without SQLite, which would leave files beside it. */
interface Look {
  readonly wal: boolean;
}

/**
 * Opens the database in `home`, making or migrating it where needed. One that belongs to another program, is of a
 * newer format or damaged is refused and left exactly as it is.
 */
export async function openDatabase(
  home: string,
  durability: EngineLimits['durability'],
  role: 'server' | 'cli',
): Promise<Database> {
  const path = join(home, DATABASE_FILE);
  try {
    let look = await lookAt(path);
    if (!look) {
      createDatabase(path, durability === 'power');
      look = (await lookAt(path))!;
    }
    return await connect(path, look, durability, role);
  } catch (error) {
    throw translated(error, path);
  }
}

/** Null where there is nothing. */
export async function lookAt(path: string): Promise<Look | null> {
  for (let round = 0; ; round++) {
    const header = Buffer.alloc(HEADER_BYTES);
    const before = sizeOf(`${path}-wal`);
    const size = readHeader(path, header);
    if (size === null) return null;
    if (size < HEADER_BYTES || header.toString('latin1', 0, MAGIC.length) !== MAGIC) {
      throw new RelayError('store_damaged', { path, what: 'it does not begin like a SQLite database' });
    }
    if (header.readUInt32BE(68) !== APPLICATION_ID) throw new RelayError('store_foreign', { path });
    const format = header.readUInt32BE(60);
    if (format > FORMAT) throw newer(path, format);
    const raw = header.readUInt16BE(16);
    const expected = header.readUInt32BE(28) * (raw === 1 ? 65536 : raw);
    // While a checkpoint runs the header may be ahead of the file; without a WAL there is nothing to copy.
    const quiet = before === 0 && sizeOf(`${path}-wal`) === 0;
    if (size >= expected || !quiet) return { wal: header[18] === 2 && header[19] === 2 };
    if (round > 0) {
      throw new RelayError('store_damaged', { path, what: `it has ${size} of ${expected} bytes` });
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function connect(
  path: string,
  look: Look,
  durability: EngineLimits['durability'],
  role: 'server' | 'cli',
): Promise<Database> {
  const db = new Database(path);
  try {
    if (!look.wal) await db.patiently(() => db.exec('PRAGMA journal_mode = WAL'));
    const full = durability === 'power';
    const settings = `
      PRAGMA synchronous = ${full ? 'FULL' : 'NORMAL'};
      ${full && process.platform === 'darwin' ? 'PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON;' : ''}
      PRAGMA journal_size_limit = ${WAL_LIMIT_BYTES};
      PRAGMA cache_size = ${role === 'server' ? -16384 : -2048};
    `;
    await db.patiently(() => db.exec(settings));
    const format = await db.patiently(() => userVersion(db));
    if (format > FORMAT) throw newer(path, format);
    if (format < FORMAT) await transaction(db, () => migrate(db));
    // Touches the schema, so that damage there shows now and not with the first write.
    await db.patiently(() => db.sql('SELECT value FROM counter').get());
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * Made whole under another name and then given its own, so that nobody ever sees half of it and the file itself
 * says from its first moment whose it is. Of several who do so at once one wins, and all use what it made.
 */
function createDatabase(path: string, durable: boolean): void {
  const folders = new FolderSync(durable);
  const drafts = join(dirname(path), DRAFTS);
  folders.ensure(drafts);
  const draft = join(drafts, `${DATABASE_FILE}-${process.pid}-${performance.now()}`);
  try {
    // SQLite gives its other files the permissions of this one.
    closeSync(openSync(draft, 'wx', 0o600));
    const db = new Database(draft);
    try {
      db.exec(`
        PRAGMA synchronous = OFF; PRAGMA page_size = ${PAGE_BYTES}; PRAGMA auto_vacuum = INCREMENTAL;
        PRAGMA application_id = ${APPLICATION_ID}
      `);
      migrate(db);
      db.exec('PRAGMA journal_mode = WAL');
    } finally {
      db.close();
    }
    if (durable) syncFile(draft);
    linkSync(draft, path);
    folders.syncNow(dirname(path));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    for (const end of ['', '-journal', '-wal', '-shm']) rmSync(draft + end, { force: true });
  }
}

/** From whatever format it has, step by step. */
function migrate(db: Database): void {
  for (const step of STEPS.slice(userVersion(db))) db.exec(step);
  db.exec(`PRAGMA user_version = ${FORMAT}`);
}

async function transaction(db: Database, work: () => void): Promise<void> {
  await db.patiently(() => db.exec('BEGIN IMMEDIATE'));
  try {
    work();
    await db.patiently(() => db.exec('COMMIT'));
  } catch (error) {
    try {
      db.exec('ROLLBACK');
    } catch {
      // SQLite has done it already.
    }
    throw error;
  }
}

function userVersion(db: Database): number {
  return (db.sql('PRAGMA user_version').get() as { user_version: number }).user_version;
}

function syncFile(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** The size of the file, or null where there is none. */
function readHeader(path: string, into: Buffer): number | null {
  let fd: number;
  try {
    fd = openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  try {
    readSync(fd, into, 0, into.length, 0);
    return fstatSync(fd).size;
  } finally {
    closeSync(fd);
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function newer(path: string, found: number): RelayError {
  return new RelayError('store_newer', { path, found, known: FORMAT });
}
