import { closeSync, existsSync, linkSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { systemEnv } from '../../base/env.ts';
import { RelayError } from '../../base/errors.ts';
import { toHex } from '../../base/ids.ts';
import { type BodyRow, bodyRows, copyBody, dropDamagedRows, inGroups, setBody } from './body-copies.ts';
import { BODIES, checkedFile } from './body-files.ts';
import { Database } from './database.ts';
import { isBusy, translated } from './failure.ts';
import { migrate } from './migration.ts';
import { DATABASE_FILE, isStore } from './opening.ts';
import { Segments } from './segments.ts';
import { makeFolder, makeFolders, syncFolderNow } from './syncing.ts';

export interface Restored {
  readonly blobs: number;
  readonly bytes: number;
  readonly lost: readonly string[];
}

/**
 * Puts a backup where there is no store, or with `force` in place of the one there, which is moved aside into
 * `before-restore-…`. The backup is copied and checked whole first; until it is found good nothing is changed. With `partial`
 * a backup with damaged bodies is good enough: it comes without these, whose keys are given as `lost`.
 */
export async function restoreSqlite(
  sourceDir: string,
  homeDir: string,
  o: { force?: boolean; partial?: boolean } = {},
): Promise<Restored> {
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
    const { rows, lost } = await stageCopy(source, stage, o.partial ?? false);
    if (existsSync(path)) await moveAside(home);
    moveIn(stage, home, rows);
    return { blobs: rows.length, bytes: rows.reduce((sum, row) => sum + row.size, 0), lost };
  } catch (error) {
    throw translated(error, path);
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

/** Copies everything, and refuses what does not fit together, or with `partial` leaves out the bodies that do not. */
async function stageCopy(source: string, stage: string, partial: boolean) {
  const from = join(source, DATABASE_FILE);
  const bad = (what: string) => new RelayError('store_damaged', { what: `${from}: ${what}` });
  try {
    copyDatabase(from, join(stage, DATABASE_FILE), bad);
    using db = new Database(join(stage, DATABASE_FILE));
    migrate(db);
    db.exec('PRAGMA journal_mode = WAL');
    const segments = new Segments(stage, systemEnv, true);
    const lost = dropDamagedRows(db);
    await inGroups(bodyRows(db), async (row) => {
      const file = checkedFile(row.file);
      const copied = await copyBody({ ...row, file }, source, stage, segments);
      if (copied?.sha256 === row.sha256) return setBody(db, row, copied);
      lost.push(row.key);
      if (row.offset === null) rmSync(join(stage, file), { force: true });
      db.sql('DELETE FROM blobs WHERE id = ?').run(row.id);
    });
    if (lost.length > 0 && !partial) throw notWhole(from, lost);
    db.exec('DELETE FROM gone');
    return { rows: bodyRows(db), lost };
  } catch (error) {
    throw translated(error, from);
  }
}

function notWhole(from: string, lost: readonly string[]): RelayError {
  const some = lost.slice(0, 3).join(', ') + (lost.length > 3 ? ', …' : '');
  return new RelayError('store_damaged', {
    what: `${from}: of ${lost.length} bodies there is not what was stored (${some})`,
    hint: 'Take another backup, or all of this one that is whole: relay restore --partial',
  });
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
