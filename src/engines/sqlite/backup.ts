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
import { BODIES, checkedFile, isPlaced, writeBody } from './body-files.ts';
import { BodyFile } from './body-stream.ts';
import { Database } from './database.ts';
import { isBusy, translated } from './failure.ts';
import { migrate } from './migration.ts';
import { DATABASE_FILE, isStore, openDatabase } from './opening.ts';
import { makeFolder, makeFolders, syncFileNow, syncFolderNow } from './syncing.ts';

interface BodyRow extends BlobInfo {
  readonly id: number;
  readonly key: string;
  readonly file: string;
}

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

/** The bodies that the copy at `path` refers to; from there on it says what there really is of them. */
async function copyBodies(db: Database, path: string, home: string, target: string): Promise<Backup> {
  using copy = new Database(path);
  const lost: string[] = [];
  let blobs = 0;
  let bytes = 0;
  for (const row of bodyRows(copy)) {
    const copied = await copyBody(join(home, row.file), join(target, row.file));
    if (copied && (isPlaced(row.file) || copied.sha256 === row.sha256)) {
      blobs++;
      bytes += copied.size;
      // At a chosen place a newer body may have come since; the copy says what it really holds.
      if (copied.sha256 !== row.sha256) {
        copy
          .sql('UPDATE blobs SET size = ?, sha256 = ? WHERE id = ?')
          .run(copied.size, copied.sha256, row.id);
      }
      continue;
    }
    rmSync(join(target, row.file), { force: true });
    copy.sql('DELETE FROM blobs WHERE id = ?').run(row.id);
    const still = db.sql('SELECT 1 FROM blobs WHERE key = ? AND file = ?');
    if (await db.patiently(() => still.get(row.key, row.file))) lost.push(row.key);
  }
  return { blobs, bytes, lost };
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
  const bad = (what: string) => new RelayError('store_damaged', { path: from, what });
  try {
    copyDatabase(from, join(stage, DATABASE_FILE), bad);
    using db = new Database(join(stage, DATABASE_FILE));
    migrate(db);
    db.exec('PRAGMA journal_mode = WAL');
    const rows = bodyRows(db);
    for (const { file, sha256 } of rows) {
      const copied = await copyBody(join(source, checkedFile(file)), join(stage, file));
      if (!copied) throw bad(`the body ${file} is missing`);
      if (copied.sha256 !== sha256) throw bad(`the body ${file} is not what was stored`);
    }
    return rows;
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
  for (const { file } of rows) {
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

/** Copies a file, makes it last, and gives what it really holds; null where there is none. */
async function copyBody(from: string, to: string): Promise<BlobInfo | null> {
  using source = BodyFile.open(from);
  if (!source) return null;
  makeFolder(dirname(to), true);
  return await writeBody(to, source.stream(0, source.size), { syncsFile: true, syncsName: true });
}

/** The rows whose body is a file. */
function bodyRows(db: Database): BodyRow[] {
  const sql = 'SELECT id, key, file, size, sha256 FROM blobs WHERE file IS NOT NULL ORDER BY id';
  return db.sql<BodyRow>(sql).all();
}
