import { closeSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { systemEnv } from '../../base/env.ts';
import { RelayError } from '../../base/errors.ts';
import {
  BODY_COLUMNS,
  type BodyRow,
  bodyRows,
  copyBody,
  dropDamagedRows,
  inGroups,
  setBody,
} from './body-copies.ts';
import { Database } from './database.ts';
import { translated } from './failure.ts';
import { DATABASE_FILE, isStore, openDatabase } from './opening.ts';
import { Segments } from './segments.ts';
import { makeFolders, syncFileNow, syncFolderNow } from './syncing.ts';

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
export async function backupSqlite(
  home: string,
  targetDir: string,
  warn?: (what: string) => void,
): Promise<Backup> {
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
    using db = await openDatabase(resolve(home), 'power', 'cli', warn);
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
  const lost = dropDamagedRows(copy);
  let blobs = 0;
  let bytes = 0;
  await inGroups(bodyRows(copy), async (row) => {
    const copied = await copyWherever(db, row, home, target, segments);
    // At a chosen place a newer body may have come since; the copy then says what it really holds.
    if (copied && (copied.sha256 === row.sha256 || (await isNow(db, row, copied.sha256)))) {
      blobs++;
      bytes += copied.size;
      setBody(copy, row, copied);
      return;
    }
    if (row.offset === null) rmSync(join(target, row.file), { force: true });
    copy.sql('DELETE FROM blobs WHERE id = ?').run(row.id);
    if (await isNow(db, row, row.sha256)) lost.push(row.key);
  });
  copy.exec('DELETE FROM gone');
  return { blobs, bytes, lost };
}

/** Whether the store itself has such a body there by now. */
async function isNow(db: Database, { key, file, offset }: BodyRow, sha256: string): Promise<boolean> {
  const sql = 'SELECT 1 FROM blobs WHERE key = ? AND file = ? AND offset IS ? AND sha256 = ?';
  return (await db.patiently(() => db.sql(sql).get(key, file, offset, sha256))) !== undefined;
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
