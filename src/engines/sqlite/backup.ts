import {
  closeSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { systemEnv } from '../../base/env.ts';
import { RelayError } from '../../base/errors.ts';
import { toHex } from '../../base/ids.ts';
import type { BlobInfo } from '../../kernel/blobs.ts';
import { BODIES, checkedFile, isPlaced, type WrittenBody, writeBody } from './body-files.ts';
import { BodyFile } from './body-stream.ts';
import { Database } from './database.ts';
import { isBusy, translated } from './failure.ts';
import { migrate } from './migration.ts';
import { DATABASE_FILE, isStore, openDatabase } from './opening.ts';
import { readSpot, Segments } from './segments.ts';
import { makeFolder, makeFolders, syncFileNow, syncFolderNow } from './syncing.ts';

interface BodyRow extends BlobInfo {
  readonly id: number;
  readonly key: string;
  readonly file: string;
  readonly offset: number | null;
  readonly expires: number | null;
  readonly blocks: Uint8Array | null;
}

/** Copied at once: what goes into a segment then shares a wait for the disk. */
const AT_ONCE = 32;

export interface Backup {
  readonly blobs: number;
  readonly bytes: number;
  /** Keys whose body was missing or damaged in the store already; the backup does without them. */
  readonly lost: string[];
}

/**
 * Copies the store at `home` as it is at one moment, while others go on writing, into a folder that does not exist
 * or is empty. What comes of it is a home like any other.
 */
export async function backupSqlite(home: string, targetDir: string): Promise<Backup> {
  const source = join(resolve(home), DATABASE_FILE);
  const target = resolve(targetDir);
  if (!(await isStore(source)))
    throw new RelayError('no_store', {
      what: 'store',
      path: home,
      hint: 'Nothing was stored in this home yet; --home or RELAY_HOME names another.',
    });
  const made = prepareTarget(target);
  try {
    using db = await openDatabase(resolve(home), 'power', 'cli');
    return await copyStore(db, resolve(home), target);
  } catch (error) {
    for (const name of readdirSync(target)) rmSync(join(target, name), { recursive: true });
    if (made) rmSync(target, { recursive: true });
    throw translated(error, source);
  }
}

async function copyStore(db: Database, home: string, target: string): Promise<Backup> {
  const path = join(target, `${DATABASE_FILE}.partial`);
  closeSync(openSync(path, 'wx', 0o600));
  await db.patiently(() => db.sql('VACUUM INTO ?').run(path));
  const result = await copyBodies(db, path, home, target);
  syncFileNow(path);
  renameSync(path, join(target, DATABASE_FILE));
  syncFolderNow(target);
  return result;
}

/** The bodies that the copy at `path` refers to; from there on it says what there really is of them, and where. */
async function copyBodies(db: Database, path: string, home: string, target: string): Promise<Backup> {
  using copy = new Database(path);
  const segments = new Segments(target, systemEnv, true);
  const lost: string[] = [];
  let blobs = 0;
  let bytes = 0;
  await inGroups(bodyRows(copy), async (row) => {
    const copied = await copyWherever(db, row, home, target, segments);
    if (copied && (isPlaced(row.file) || copied.sha256 === row.sha256)) {
      blobs++;
      bytes += copied.size;
      // At a chosen place a newer body may have come since; the copy says what it really holds.
      setBody(copy, row, copied);
      return;
    }
    if (row.offset === null) rmSync(join(target, row.file), { force: true });
    copy.sql('DELETE FROM blobs WHERE id = ?').run(row.id);
    const still = db.sql('SELECT 1 FROM blobs WHERE key = ? AND file = ? AND offset IS ?');
    if (await db.patiently(() => still.get(row.key, row.file, row.offset))) lost.push(row.key);
  });
  copy.exec('DELETE FROM gone');
  return { blobs, bytes, lost };
}

/** While others go on, what has a place in a segment may be moved to another. */
async function copyWherever(db: Database, row: BodyRow, home: string, target: string, segments: Segments) {
  const sql = `SELECT ${BODY_COLUMNS} FROM blobs WHERE id = ? AND sha256 = ? AND offset IS NOT NULL`;
  for (let from = row; ; ) {
    const copied = await copyBody(from, home, target, segments);
    if (copied || row.offset === null) return copied;
    const now = await db.patiently(() => db.sql<BodyRow>(sql).get(row.id, row.sha256));
    if (!now || (now.file === from.file && now.offset === from.offset)) return null;
    from = now;
  }
}

/** Whether it had to be made. */
function prepareTarget(target: string): boolean {
  const made = makeFolders(target) !== undefined;
  if (!made && readdirSync(target).length > 0) {
    throw new RelayError('conflict', {
      what: `${target} is not empty.`,
      hint: 'Back up into a folder that does not exist yet.',
    });
  }
  if (made) syncFolderNow(dirname(target));
  return made;
}

/**
 * Puts a backup where there is no store, or with `force` in place of the one there, which is moved aside into
 * `before-restore-…`. The backup is copied and checked whole first; until it is found good nothing is changed.
 */
export async function restoreSqlite(
  sourceDir: string,
  homeDir: string,
  o: { force?: boolean } = {},
): Promise<{ blobs: number; bytes: number }> {
  const source = resolve(sourceDir);
  const home = resolve(homeDir);
  const path = join(home, DATABASE_FILE);
  if (existsSync(path) && !o.force) {
    throw new RelayError('conflict', {
      what: `There is a store at ${home} already.`,
      hint: 'Restore into another home, or use --force; what is there is then moved aside.',
    });
  }
  if (!(await isStore(join(source, DATABASE_FILE)))) {
    throw new RelayError('no_store', {
      what: 'backup',
      path: source,
      hint: 'Name the folder that relay backup wrote.',
    });
  }
  makeFolders(home);
  const stage = join(home, `restore-${toHex(systemEnv.randomBytes(8))}`);
  mkdirSync(stage, { mode: 0o700 });
  try {
    const rows = await stageCopy(source, stage);
    if (existsSync(path)) await moveAside(home);
    moveIn(stage, home, rows);
    return { blobs: rows.length, bytes: rows.reduce((sum, row) => sum + row.size, 0) };
  } catch (error) {
    throw translated(error, path);
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

/** Copies everything, and refuses what does not fit together. */
async function stageCopy(source: string, stage: string): Promise<BodyRow[]> {
  const from = join(source, DATABASE_FILE);
  const bad = (what: string) => new RelayError('store_damaged', { what: `${from}: ${what}` });
  try {
    copyDatabase(from, join(stage, DATABASE_FILE), bad);
    using db = new Database(join(stage, DATABASE_FILE));
    migrate(db);
    db.exec('PRAGMA journal_mode = WAL');
    const segments = new Segments(stage, systemEnv, true);
    await inGroups(bodyRows(db), async (row) => {
      const copied = await copyBody({ ...row, file: checkedFile(row.file) }, source, stage, segments);
      if (!copied) throw bad(`the body ${row.file} is missing`);
      if (copied.sha256 !== row.sha256) throw bad(`the body ${row.file} is not what was stored`);
      setBody(db, row, copied);
    });
    db.exec('DELETE FROM gone');
    return bodyRows(db);
  } catch (error) {
    throw translated(error, from);
  }
}

/** A backup is looked at only; the home of a relay that was not closed well has a WAL that belongs to it. */
function copyDatabase(from: string, to: string, bad: (what: string) => RelayError): void {
  closeSync(openSync(to, 'wx', 0o600));
  using db = new Database(from, { asItIs: !existsSync(`${from}-wal`) });
  const found = db.sql<{ integrity_check: string }>('PRAGMA integrity_check(1)').get()!;
  if (found.integrity_check !== 'ok') throw bad(found.integrity_check);
  db.sql('VACUUM INTO ?').run(to);
}

/** Bodies first, the database last: it is what makes them a store. */
function moveIn(stage: string, home: string, rows: readonly BodyRow[]): void {
  const touched = new Set([home]);
  for (const file of new Set(rows.map((row) => row.file))) {
    const folder = dirname(join(home, file));
    makeFolder(folder, true);
    renameSync(join(stage, file), join(home, file));
    touched.add(folder);
  }
  // Unlike a rename, a link does not replace what somebody may have made there meanwhile.
  linkSync(join(stage, DATABASE_FILE), join(home, DATABASE_FILE));
  for (const folder of touched) syncFolderNow(folder);
}

async function moveAside(home: string): Promise<void> {
  const path = join(home, DATABASE_FILE);
  await refuseInUse(path);
  const aside = join(home, `before-restore-${new Date(systemEnv.now()).toISOString().replaceAll(':', '-')}`);
  mkdirSync(aside, { mode: 0o700 });
  for (const name of [DATABASE_FILE, `${DATABASE_FILE}-wal`, `${DATABASE_FILE}-shm`, BODIES]) {
    if (existsSync(join(home, name))) renameSync(join(home, name), join(aside, name));
  }
}

/** A database can leave WAL mode only when nobody else has it open. One that cannot be read is in nobody's use. */
async function refuseInUse(path: string): Promise<void> {
  try {
    if (!(await isStore(path))) return;
  } catch {
    return;
  }
  using db = new Database(path);
  try {
    db.exec('PRAGMA journal_mode = DELETE');
  } catch (error) {
    if (isBusy(error)) {
      throw new RelayError('busy', {
        what: 'another process has it open',
        hint: 'Stop it first, for example with relay down.',
      });
    }
  }
}

type CopiedBody = WrittenBody & Pick<BodyRow, 'file' | 'offset'>;

/**
 * Copies a body from one home to another, makes it last, and gives what it really holds and where it is; null where it is
 * missing, or its place in a segment has something else.
 */
async function copyBody(
  row: BodyRow,
  from: string,
  to: string,
  segments: Segments,
): Promise<CopiedBody | null> {
  const { file, offset, size, sha256, blocks, expires } = row;
  if (offset !== null) {
    const body = readSpot(from, { file, offset }, size);
    if (!body || process.getBuiltinModule('node:crypto').hash('sha256', body) !== sha256) return null;
    return { size, sha256, blocks: blocks!, ...(await segments.append([body], expires)) };
  }
  using source = BodyFile.open(join(from, file));
  if (!source) return null;
  makeFolder(dirname(join(to, file)), true);
  const stream = await source.stream({ start: 0, end: source.size });
  if (!stream) return null;
  const written = await writeBody(join(to, file), stream, { syncsFile: true, syncsName: true });
  return { ...written, file, offset };
}

function setBody(copy: Database, { id }: BodyRow, { size, sha256, blocks, file, offset }: CopiedBody): void {
  const sql = 'UPDATE blobs SET size = ?, sha256 = ?, blocks = ?, file = ?, offset = ? WHERE id = ?';
  copy.sql(sql).run(size, sha256, blocks, file, offset, id);
}

const BODY_COLUMNS = 'id, key, file, offset, size, sha256, blocks, expires';

/** The rows whose body is in a file. */
function bodyRows(db: Database): BodyRow[] {
  return db.sql<BodyRow>(`SELECT ${BODY_COLUMNS} FROM blobs WHERE file IS NOT NULL ORDER BY id`).all();
}

async function inGroups<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < all.length; at += AT_ONCE) await Promise.all(all.slice(at, at + AT_ONCE).map(work));
}
