import { hash } from 'node:crypto';
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
import type { HashedBody } from '../body-hashes.ts';
import { openBody, readVerifiedBody, type StoredBody, streamBody } from './body-check.ts';
import { BODIES, validateFile, writeBody } from './body-files.ts';
import { Database } from './database.ts';
import { fsyncFileSync, fsyncFolderSync, makeFolder, makeFolders } from './fsync.ts';
import { DATABASE_FILE, isStore, migrate, openDatabase } from './opening.ts';
import { readFromSegment, Segments } from './segments.ts';
import { isBusy, translateError } from './translate-error.ts';

/** Result of a backup or restore. */
export interface CopyResult {
  readonly blobs: number;
  readonly bytes: number;
  /** Keys of blobs that are not in the copy, because they were missing or damaged in the source. */
  readonly lost: readonly string[];
}

/**
 * Copies the store at `home` into a new or empty folder. The copy is a consistent snapshot and a normal home. Other
 * processes can write during the copy.
 */
export async function backupSqlite(
  home: string,
  targetDir: string,
  warn?: (what: string) => void,
): Promise<CopyResult> {
  const source = join(resolve(home), DATABASE_FILE);
  const target = resolve(targetDir);
  if (!(await isStore(source)))
    throw new RelayError('no_store', {
      what: 'store',
      path: home,
      hint: 'This home has no data yet. Use --home or RELAY_HOME to choose another home.',
    });
  const created = prepareTarget(target);
  try {
    using db = await openDatabase(resolve(home), 'power', 'cli', warn);
    const path = join(target, `${DATABASE_FILE}.partial`);
    closeSync(openSync(path, 'wx', 0o600));
    await db.retryWhileBusy(() => db.sql('VACUUM INTO ?').run(path));
    let copied: CopyResult;
    {
      using copy = new Database(path);
      copied = await copyBodies(copy, resolve(home), target, db);
    }
    fsyncFileSync(path);
    renameSync(path, join(target, DATABASE_FILE));
    fsyncFolderSync(target);
    return copied;
  } catch (error) {
    for (const name of readdirSync(target)) rmSync(join(target, name), { recursive: true });
    if (created) rmSync(target, { recursive: true });
    throw translateError(error, source);
  }
}

/** Creates the target folder, or checks that it is empty. Returns whether it was created. */
function prepareTarget(target: string): boolean {
  const created = makeFolders(target) !== undefined;
  if (!created && readdirSync(target).length > 0) {
    throw new RelayError('conflict', {
      what: `${target} is not empty.`,
      hint: 'Back up to a folder that does not exist yet.',
    });
  }
  if (created) fsyncFolderSync(dirname(target));
  return created;
}

/** Row of a body that is stored in a file. */
interface BodyRow extends BlobInfo {
  readonly id: number;
  readonly key: string;
  readonly file: string;
  readonly offset: number | null;
  readonly expires: number | null;
  readonly blocks: Uint8Array | null;
}

const BODY_COLUMNS = 'id, key, file, offset, size, sha256, blocks, expires';

/** Number of bodies that are copied at once. Bodies that go into one segment share an fsync. */
const COPY_BATCH = 32;

/**
 * Copies the bodies of the database `copy` from one home to another, and updates the rows of `copy` to the bytes that
 * were copied. `live` is the source database if other processes are using it.
 */
async function copyBodies(copy: Database, from: string, to: string, live?: Database): Promise<CopyResult> {
  const segments = new Segments(to, systemEnv, true);
  const lost = dropDamagedRows(copy);
  let [blobs, bytes] = [0, 0];
  const copyOne = async (found: BodyRow) => {
    const row = { ...found, file: validateFile(found.file) };
    const copied = live
      ? await copyLiveBody(live, row, from, to, segments)
      : await copyBody(row, from, to, segments);
    // At a path that `Place` chose, a newer body may have replaced the body of the row. Then update the row to the
    // newer body.
    if (copied && (copied.sha256 === row.sha256 || (live && (await isCurrent(live, row, copied.sha256))))) {
      blobs++;
      bytes += copied.size;
      const { size, sha256, blocks, file, offset } = copied;
      const sql = 'UPDATE blobs SET size = ?, sha256 = ?, blocks = ?, file = ?, offset = ? WHERE id = ?';
      copy.sql(sql).run(size, sha256, blocks, file, offset, row.id);
      return;
    }
    if (row.offset === null) rmSync(join(to, row.file), { force: true });
    copy.sql('DELETE FROM blobs WHERE id = ?').run(row.id);
    if (!live || (await isCurrent(live, row, row.sha256))) lost.push(row.key);
  };
  const rows = bodyRows(copy);
  for (let at = 0; at < rows.length; at += COPY_BATCH)
    await Promise.all(rows.slice(at, at + COPY_BATCH).map(copyOne));
  copy.exec('DELETE FROM gone');
  return { blobs, bytes, lost };
}

/** Returns the rows whose body is in a file. */
function bodyRows(db: Database): BodyRow[] {
  return db.sql<BodyRow>(`SELECT ${BODY_COLUMNS} FROM blobs WHERE file IS NOT NULL ORDER BY id`).all();
}

/** Returns whether the source store now has this body at this location. */
async function isCurrent(db: Database, { key, file, offset }: BodyRow, sha256: string): Promise<boolean> {
  const sql = 'SELECT 1 FROM blobs WHERE key = ? AND file = ? AND offset IS ? AND sha256 = ?';
  return (await db.retryWhileBusy(() => db.sql(sql).get(key, file, offset, sha256))) !== undefined;
}

/**
 * Copies a body of a store that is in use. If compaction moves the body to another segment meanwhile, copies the body
 * from that segment.
 */
async function copyLiveBody(db: Database, row: BodyRow, home: string, target: string, segments: Segments) {
  const sql = `SELECT ${BODY_COLUMNS} FROM blobs WHERE id = ? AND sha256 = ? AND offset IS NOT NULL`;
  for (let from = row; ; ) {
    const copied = await copyBody(from, home, target, segments);
    if (copied || row.offset === null) return copied;
    const now = await db.retryWhileBusy(() => db.sql<BodyRow>(sql).get(row.id, row.sha256));
    if (!now || (now.file === from.file && now.offset === from.offset)) return null;
    from = now;
  }
}

/**
 * Copies a body to another home and syncs it to disk. Returns its actual hashes and its location. Returns null if the
 * body is missing, or if other bytes are at its place in a segment.
 */
async function copyBody(
  row: BodyRow,
  from: string,
  to: string,
  segments: Segments,
): Promise<(HashedBody & Pick<BodyRow, 'file' | 'offset'>) | null> {
  const { file, offset, size, sha256, blocks, expires } = row;
  if (offset !== null) {
    const body = readFromSegment(from, { file, offset }, size);
    if (!body || hash('sha256', body) !== sha256) return null;
    return { size, sha256, blocks: blocks!, ...(await segments.append([body], expires)) };
  }
  const source = await openBody(join(from, file));
  if (!source) return null;
  makeFolder(dirname(join(to, file)), true);
  const stream = streamBody(source.file, { start: 0, end: source.size });
  const written = await writeBody(join(to, file), stream, { fsyncsFile: true, fsyncsFolder: true });
  return { ...written, file, offset };
}

/** Deletes the rows with damaged inline bodies from the copy. Returns their keys. */
function dropDamagedRows(copy: Database): string[] {
  const next = `SELECT id, key, size, sha256, file, offset, blocks, body FROM blobs
    WHERE file IS NULL AND id > ? ORDER BY id LIMIT 1`;
  const dropped: string[] = [];
  for (let after = 0; ; ) {
    const row = copy.sql<StoredBody & { id: number; key: string }>(next).get(after);
    if (!row) return dropped;
    after = row.id;
    if (readVerifiedBody({ home: '' }, row)) continue;
    copy.sql('DELETE FROM blobs WHERE id = ?').run(row.id);
    dropped.push(row.key);
  }
}

/**
 * Restores a backup into a home without a store. With `force`, moves an existing store to `before-restore-…` first.
 * The backup is copied and verified before anything is changed. A backup with damaged bodies is rejected; with
 * `partial`, it is restored without them, and their keys are returned as `lost`.
 */
export async function restoreSqlite(
  sourceDir: string,
  homeDir: string,
  o: { force?: boolean; partial?: boolean } = {},
): Promise<CopyResult> {
  const source = resolve(sourceDir);
  const home = resolve(homeDir);
  const path = join(home, DATABASE_FILE);
  if (existsSync(path) && !o.force) {
    throw new RelayError('conflict', {
      what: `There is already a store at ${home}.`,
      hint: 'Restore into another home, or use --force to move the existing store aside.',
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
    const { files, ...copied } = await stageCopy(source, stage, o.partial ?? false);
    if (existsSync(path)) await moveAside(home);
    installFiles(stage, home, files);
    return copied;
  } catch (error) {
    throw translateError(error, path);
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

/** Copies and verifies the whole backup. Rejects damaged bodies; with `partial`, leaves them out. */
async function stageCopy(
  source: string,
  stage: string,
  partial: boolean,
): Promise<CopyResult & { files: Set<string> }> {
  const from = join(source, DATABASE_FILE);
  try {
    copyDatabase(from, join(stage, DATABASE_FILE));
    using db = new Database(join(stage, DATABASE_FILE));
    migrate(db);
    db.exec('PRAGMA journal_mode = WAL');
    const copied = await copyBodies(db, source, stage);
    if (copied.lost.length > 0 && !partial) throw damagedBackupError(from, copied.lost);
    return { ...copied, files: new Set(bodyRows(db).map(({ file }) => file)) };
  } catch (error) {
    throw translateError(error, from);
  }
}

function damagedBackupError(from: string, lost: readonly string[]): RelayError {
  const some = lost.slice(0, 3).join(', ') + (lost.length > 3 ? ', …' : '');
  return new RelayError('store_damaged', {
    what: `${from}: ${lost.length} payloads are missing or damaged (${some})`,
    hint: 'Use another backup, or restore the intact part of this one with relay restore --partial.',
  });
}

/**
 * Copies the database `from` after an integrity check. Opens it as immutable unless it has a WAL, which must be read. A
 * backup has no WAL; a home that was not closed properly has one.
 */
function copyDatabase(from: string, to: string): void {
  closeSync(openSync(to, 'wx', 0o600));
  using db = new Database(from, { immutable: !existsSync(`${from}-wal`) });
  const found = db.sql<{ integrity_check: string }>('PRAGMA integrity_check(1)').get()!;
  if (found.integrity_check !== 'ok')
    throw new RelayError('store_damaged', { what: `${from}: ${found.integrity_check}` });
  db.sql('VACUUM INTO ?').run(to);
}

/** Moves the bodies first and the database last, because bodies without a database are not a store. */
function installFiles(stage: string, home: string, files: ReadonlySet<string>): void {
  const touched = new Set([home]);
  for (const file of files) {
    const folder = dirname(join(home, file));
    makeFolder(folder, true);
    renameSync(join(stage, file), join(home, file));
    touched.add(folder);
  }
  // A link, unlike a rename, fails if another process has created a store there meanwhile.
  linkSync(join(stage, DATABASE_FILE), join(home, DATABASE_FILE));
  for (const folder of touched) fsyncFolderSync(folder);
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

/**
 * Throws `busy` if another process has the store open. SQLite can leave WAL mode only if no other process
 * uses the database. An unreadable store counts as unused.
 */
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
