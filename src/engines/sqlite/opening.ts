import { closeSync, fstatSync, mkdirSync, openSync, readSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { RelayError } from '../../base/errors.ts';
import type { EngineLimits } from '../../kernel/engine.ts';
import { Database } from './database.ts';
import { translated } from './failure.ts';
import { syncFolderNow } from './folder-sync.ts';
import { APPLICATION_ID, FORMAT, PAGE_BYTES, STEPS } from './schema.ts';

export const DATABASE_FILE = 'relay.db';

/** A WAL that a burst has made longer is cut back to this when it starts anew. */
const WAL_LIMIT_BYTES = 64 * 1024 * 1024;

const HEADER_BYTES = 100;
const MAGIC = 'SQLite format 3\0';

/** What the first bytes of the file say, read without SQLite, which would leave files beside it. */
interface Look {
  readonly format: number;
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
    const look = await lookAt(path);
    if (!look) createFile(path, durability === 'power');
    return await connect(path, look, durability, role);
  } catch (error) {
    throw translated(error, path);
  }
}

/** Null where there is nothing yet, or nothing but what a creation leaves that was cut off. */
export async function lookAt(path: string): Promise<Look | null> {
  for (let round = 0; ; round++) {
    const header = Buffer.alloc(HEADER_BYTES);
    const before = sizeOf(`${path}-wal`);
    const size = readHeader(path, header);
    if (size === null || size === 0) return null;
    if (header.toString('latin1', 0, MAGIC.length) !== MAGIC) {
      if (sizeOf(`${path}-journal`) > 0) return null;
      throw new RelayError('store_damaged', { path, what: 'it does not begin like a SQLite database' });
    }
    if (header.readUInt32BE(68) !== APPLICATION_ID) throw new RelayError('store_foreign', { path });
    const format = header.readUInt32BE(60);
    if (format > FORMAT) throw newer(path, format);
    const raw = header.readUInt16BE(16);
    const expected = header.readUInt32BE(28) * (raw === 1 ? 65536 : raw);
    // While a checkpoint runs the header may be ahead of the file; without a WAL there is nothing to copy.
    const quiet = before === 0 && sizeOf(`${path}-wal`) === 0;
    if (size >= expected || !quiet) return { format, wal: header[18] === 2 && header[19] === 2 };
    if (round > 0) {
      throw new RelayError('store_damaged', { path, what: `it has ${size} of ${expected} bytes` });
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function connect(
  path: string,
  look: Look | null,
  durability: EngineLimits['durability'],
  role: 'server' | 'cli',
): Promise<Database> {
  const db = new Database(path);
  try {
    if (!look) await create(db);
    if (!look?.wal) await db.patiently(() => db.exec('PRAGMA journal_mode = WAL'));
    const full = durability === 'power';
    await db.patiently(() =>
      db.exec(`
      PRAGMA synchronous = ${full ? 'FULL' : 'NORMAL'};
      ${full && process.platform === 'darwin' ? 'PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON;' : ''}
      PRAGMA journal_size_limit = ${WAL_LIMIT_BYTES};
      PRAGMA cache_size = ${role === 'server' ? -16384 : -2048};
    `),
    );
    const format = await db.patiently(() => userVersion(db));
    if (format > FORMAT) throw newer(path, format);
    if (format < FORMAT) await migrate(db);
    // Touches the schema, so that damage there shows now and not with the first write.
    await db.patiently(() => db.sql('SELECT value FROM counter').get());
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** In a rollback journal, so that the header in the file itself says from the start whose it is. */
async function create(db: Database): Promise<void> {
  db.exec(`PRAGMA page_size = ${PAGE_BYTES}; PRAGMA auto_vacuum = INCREMENTAL;`);
  await transaction(db, () => {
    if (userVersion(db) !== 0) return;
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
    step(db, 0);
  });
}

async function migrate(db: Database): Promise<void> {
  await transaction(db, () => step(db, userVersion(db)));
}

function step(db: Database, from: number): void {
  for (const each of STEPS.slice(from)) db.exec(each);
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

/** SQLite gives its other files the permissions of this one. */
function createFile(path: string, durable: boolean): void {
  const home = dirname(path);
  const made = mkdirSync(home, { recursive: true, mode: 0o700 });
  closeSync(openSync(path, 'a', 0o600));
  if (made !== undefined && durable) syncFolderNow(dirname(made));
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
