import { closeSync, existsSync, linkSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type Env, systemEnv } from '../../base/env.ts';
import { RelayError } from '../../base/errors.ts';
import { toHex } from '../../base/ids.ts';
import { type BodyRow, bodyRows, copyBody } from './body-copy.ts';
import { BODIES, checkedFile } from './body-files.ts';
import { Database } from './database.ts';
import { isBusy, translated } from './failure.ts';
import { FolderSync, syncFolderNow } from './folder-sync.ts';
import { DATABASE_FILE, isStore } from './opening.ts';

/**
 * Puts a backup where there is no store, or with `force` in place of the one there, which is moved aside into
 * `before-restore-…`. The backup is copied and checked whole first; until it is found good nothing is changed.
 */
export async function restoreSqlite(
  sourceDir: string,
  homeDir: string,
  o: { force?: boolean; env?: Env } = {},
): Promise<{ blobs: number; bytes: number }> {
  const source = resolve(sourceDir);
  const home = resolve(homeDir);
  const env = o.env ?? systemEnv;
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
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const stage = join(home, `restore-${toHex(env.randomBytes(8))}`);
  mkdirSync(stage, { mode: 0o700 });
  try {
    const rows = await stageCopy(source, stage);
    if (existsSync(path)) await moveAside(home, env);
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
    const db = new Database(join(stage, DATABASE_FILE));
    try {
      db.exec('PRAGMA journal_mode = WAL');
      const rows = [...bodyRows(db)];
      for (const { file, sha256 } of rows) {
        const copied = await copyBody(join(source, checkedFile(file)), join(stage, file));
        if (!copied) throw bad(`the body ${file} is missing`);
        if (copied.sha256 !== sha256) throw bad(`the body ${file} is not what was stored`);
      }
      return rows;
    } finally {
      db.close();
    }
  } catch (error) {
    throw translated(error, from);
  }
}

/** A backup is looked at only; the home of a relay that was not closed well has a WAL that belongs to it. */
function copyDatabase(from: string, to: string, bad: (what: string) => RelayError): void {
  closeSync(openSync(to, 'wx', 0o600));
  const db = new Database(from, { asItIs: !existsSync(`${from}-wal`) });
  try {
    const found = db.sql('PRAGMA integrity_check(1)').get() as { integrity_check: string };
    if (found.integrity_check !== 'ok') throw bad(found.integrity_check);
    db.sql('VACUUM INTO ?').run(to);
  } finally {
    db.close();
  }
}

/** Bodies first, the database last: it is what makes them a store. */
function moveIn(stage: string, home: string, rows: readonly BodyRow[]): void {
  const folders = new FolderSync(true);
  const touched = new Set([home]);
  for (const { file } of rows) {
    const folder = dirname(join(home, file));
    folders.ensure(folder);
    renameSync(join(stage, file), join(home, file));
    touched.add(folder);
  }
  // Unlike a rename, a link does not replace what somebody may have made there meanwhile.
  linkSync(join(stage, DATABASE_FILE), join(home, DATABASE_FILE));
  for (const folder of touched) syncFolderNow(folder);
}

async function moveAside(home: string, env: Env): Promise<void> {
  const path = join(home, DATABASE_FILE);
  await refuseInUse(path);
  const aside = join(home, `before-restore-${new Date(env.now()).toISOString().replaceAll(':', '-')}`);
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
  const db = new Database(path);
  try {
    db.exec('PRAGMA journal_mode = DELETE');
  } catch (error) {
    if (isBusy(error)) {
      throw new RelayError('busy', {
        what: 'another process has it open',
        hint: 'Stop it first, for example with relay down.',
      });
    }
  } finally {
    db.close();
  }
}
