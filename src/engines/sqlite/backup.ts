import { closeSync, fsyncSync, mkdirSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { RelayError } from '../../base/errors.ts';
import { bodyRows, copyBody } from './body-copy.ts';
import { isPlaced } from './body-files.ts';
import { Database } from './database.ts';
import { translated } from './failure.ts';
import { syncFolderNow } from './folder-sync.ts';
import { DATABASE_FILE, isStore, openDatabase } from './opening.ts';

export { restoreSqlite } from './restore.ts';

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
    const db = await openDatabase(resolve(home), 'power', 'cli');
    try {
      return await copyStore(db, resolve(home), target);
    } finally {
      db.close();
    }
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
  const copy = new Database(path);
  let result: Backup;
  try {
    result = await copyBodies(db, copy, home, target);
  } finally {
    copy.close();
  }
  const fd = openSync(path, 'r');
  fsyncSync(fd);
  closeSync(fd);
  renameSync(path, join(target, DATABASE_FILE));
  syncFolderNow(target);
  return result;
}

async function copyBodies(db: Database, copy: Database, home: string, target: string): Promise<Backup> {
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
  const made = mkdirSync(target, { recursive: true, mode: 0o700 }) !== undefined;
  if (!made && readdirSync(target).length > 0) {
    throw new RelayError('conflict', {
      what: `${target} is not empty.`,
      hint: 'Back up into a folder that does not exist yet.',
    });
  }
  if (made) syncFolderNow(dirname(target));
  return made;
}
