import fs from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { ORPHAN_AGE_MS } from '../../base/limits.ts';
import { pause } from '../../base/pause.ts';
import type { SweepResult, Usage } from '../../kernel/engine.ts';
import type { SqliteBlobs } from './blobs.ts';
import { hashBody, type StoredBody } from './body-check.ts';
import { BODIES, DRAFTS } from './body-files.ts';
import type { CommitQueue, Store } from './commit-queue.ts';
import type { Checkpoints } from './database.ts';
import { DELETE_ENTRIES } from './logs.ts';
import { DATABASE_FILE } from './opening.ts';
import { type DeletedBody, queueForWipe, removeUnused, type SecureDelete } from './secure-delete.ts';
import { allSegments, compact, isSegment, SEGMENTS } from './segments.ts';

/** Maximum number of records per transaction, so that it holds the lock only for a few milliseconds. */
const RECORD_BATCH = 500;
/** Maximum number of blobs per transaction. */
const BLOB_BATCH = 50;
/** Maximum number of database pages per transaction. */
const PAGE_BATCH = 256;

/** Number of free pages (1 MiB) that stay in the file for the next writes. */
const SPARE_PAGES = 256;

/** The parts of the store that a sweep needs. */
export interface SweepStore extends Store {
  readonly blobs: SqliteBlobs;
  readonly checkpoints: Checkpoints;
  readonly secureDelete: SecureDelete;
}

/**
 * Deletes expired data, dropped streams and leftover files, in small transactions, so that other writers can write
 * between them. Round 0 checks everything. A later round, which a server runs every minute, checks only what has
 * changed and one of the body folders.
 */
export async function sweep(store: SweepStore, round: number): Promise<SweepResult> {
  const now = store.env.now();
  const expired = await deleteExpiredBlobs(store, now);
  const records = await deleteExpiredRecords(store, now);
  await deleteDroppedStreams(store);
  await hashOldBodies(store);
  await removeOldCopies(store.db.path, now);
  await store.secureDelete.wipe();
  await store.secureDelete.compactWiped(async (wipedSegments) =>
    compact(store, store.blobs.segments, round === 0 ? await allSegments(store.home) : wipedSegments),
  );
  const orphans = await deleteOrphanedFiles(store, now - ORPHAN_AGE_MS, round);
  await store.secureDelete.wipe();
  await shrinkDatabase(store);
  return { blobs: expired.blobs + orphans.blobs, records, bytes: expired.bytes + orphans.bytes };
}

async function deleteExpiredBlobs(
  { db, queue, blobs }: SweepStore,
  now: number,
): Promise<Omit<SweepResult, 'records'>> {
  const sql = `DELETE FROM blobs WHERE id IN (SELECT id FROM blobs WHERE expires <= ? LIMIT ${BLOB_BATCH})
    RETURNING size, file, offset`;
  const swept = { blobs: 0, bytes: 0 };
  for (;;) {
    const rows = await queue.free(() => {
      const deleted = db.sql<DeletedBody>(sql).all(now);
      for (const row of deleted) queueForWipe({ db }, row);
      return deleted;
    });
    for (const row of rows) {
      swept.blobs++;
      swept.bytes += row.size;
      await blobs.removeBody(row);
    }
    if (rows.length < BLOB_BATCH) return swept;
  }
}

async function deleteExpiredRecords({ db, queue }: SweepStore, now: number): Promise<number> {
  const sql = `DELETE FROM records WHERE id IN (SELECT id FROM records WHERE expires <= ? LIMIT ${RECORD_BATCH})`;
  return repeatInBatches(queue, RECORD_BATCH, () => {
    const count = Number(db.sql(sql).run(now).changes);
    if (count > 0) queueForWipe({ db }, { file: null, offset: null, size: 0 });
    return count;
  });
}

/** Deletes dropped streams. The entries of a stream are deleted before the stream itself. */
async function deleteDroppedStreams({ db, queue }: SweepStore): Promise<void> {
  const next = () => db.sql<{ id: number }>('SELECT id FROM streams WHERE name IS NULL').get();
  for (let found = await db.retryWhileBusy(next); found; found = await db.retryWhileBusy(next)) {
    const { id } = found;
    const sql = `DELETE FROM entries WHERE stream = ? AND seq <=
      (SELECT max(seq) FROM (SELECT seq FROM entries WHERE stream = ? ORDER BY seq LIMIT ${DELETE_ENTRIES}))`;
    await repeatInBatches(queue, DELETE_ENTRIES, () => Number(db.sql(sql).run(id, id).changes));
    await queue.free(() => db.sql('DELETE FROM streams WHERE id = ?').run(id));
  }
}

/** Time in ms for which the copy of the database from before a migration is kept. */
const OLD_COPY_MS = 7 * 24 * 3_600_000;

/** Number of bodies that are hashed at once. Their updates share a commit. */
const HASH_BATCH = 16;

interface OldRow extends StoredBody {
  readonly id: number;
}

/**
 * Adds block checksums to the bodies of format 1 after a migration, in small steps that can be interrupted. A damaged
 * body gets no checksums, so that readers still notice the damage.
 */
async function hashOldBodies(store: Store): Promise<void> {
  const { db, queue } = store;
  const sql = `SELECT id, sha256, size, file, offset, blocks, body FROM blobs WHERE blocks IS NULL AND id > ? ORDER BY id LIMIT ${HASH_BATCH}`;
  const update = 'UPDATE blobs SET blocks = ? WHERE id = ? AND sha256 = ? AND blocks IS NULL';
  for (let after = 0; ; ) {
    const rows = await db.retryWhileBusy(() => db.sql<OldRow>(sql).all(after));
    if (rows.length === 0) return;
    after = rows.at(-1)!.id;
    await Promise.all(
      rows.map(async (row) => {
        const found = await hashBody(store, row);
        if (found?.sha256 !== row.sha256) return;
        await queue.run(() => db.sql(update).run(found.blocks, row.id, row.sha256), row.body?.length);
      }),
    );
  }
}

/**
 * Deletes the copies of the database from before a migration. They contain data that was deleted since, and become
 * useless as the store changes.
 */
async function removeOldCopies(path: string, now: number): Promise<void> {
  const folder = dirname(path);
  for (const name of await fs.promises.readdir(folder)) {
    if (!name.startsWith(`${DATABASE_FILE}-format-`)) continue;
    const copy = join(folder, name);
    const stat = await fs.promises.stat(copy).catch(() => null);
    if (stat && stat.mtimeMs < now - OLD_COPY_MS) await fs.promises.rm(copy, { force: true });
  }
}

/**
 * Deletes old files to which no row refers. Young files stay, because their rows may not be committed yet. A segment
 * may be deleted at any age, because a commit first checks that its segment exists. Segments are not counted here,
 * because their bodies were already counted.
 */
async function deleteOrphanedFiles(
  store: SweepStore,
  before: number,
  round: number,
): Promise<Omit<SweepResult, 'records'>> {
  const swept = { blobs: 0, bytes: 0 };
  for await (const { path, file } of listBodyFiles(store.home, round)) {
    const stat = await fs.promises.stat(path).catch(() => null);
    if (!stat?.isFile() || (stat.mtimeMs > before && !isSegment(file))) continue;
    if (!(await removeUnused(store, file)) || isSegment(file)) continue;
    swept.blobs++;
    swept.bytes += stat.size;
  }
  return swept;
}

/** Moves free pages to the end of the database file and truncates it. */
async function shrinkDatabase({ db, queue, checkpoints }: SweepStore): Promise<void> {
  const free = () => db.sql<{ freelist_count: number }>('PRAGMA freelist_count').get()!.freelist_count;
  let before = await db.retryWhileBusy(free);
  if (before <= SPARE_PAGES) return;
  for (;;) {
    const pages = Math.min(PAGE_BATCH, before - SPARE_PAGES);
    await queue.free(() => db.exec(`PRAGMA incremental_vacuum(${pages})`));
    const left = await db.retryWhileBusy(free);
    if (left <= SPARE_PAGES || left >= before) break;
    before = left;
  }
  await checkpoints.emptyWal();
}

async function repeatInBatches(queue: CommitQueue, size: number, step: () => number): Promise<number> {
  for (let sum = 0; ; ) {
    const count = await queue.free(step);
    sum += count;
    if (count < size) return sum;
  }
}

/** Counts what the store contains. Expired rows use disk space until a sweep, but are not counted. */
export async function readUsage({ db, home, env }: Store): Promise<Usage> {
  const now = env.now();
  const blobs = await countRows(db, 'blobs', now);
  const records = await countRows(db, 'records', now);
  const { entries } = await db.retryWhileBusy(
    () =>
      db
        .sql<{ entries: number }>(
          'SELECT coalesce(sum(count), 0) AS entries FROM streams WHERE name IS NOT NULL',
        )
        .get()!,
  );
  let diskBytes = blobs.placed;
  // These files include the WAL, the reserve and copies of older formats.
  const databaseFiles = (await fs.promises.readdir(home)).filter((name) => name.startsWith(DATABASE_FILE));
  for (const name of databaseFiles) diskBytes += await sizeOf(join(home, name));
  for await (const { path } of listBodyFiles(home)) diskBytes += await sizeOf(path);
  return {
    blobs: { count: blobs.count, bytes: blobs.bytes },
    records: records.count,
    entries,
    diskBytes,
  };
}

/** Number of rows that are counted at once. Counting them takes less than a millisecond of CPU time. */
const COUNT_BATCH = 500;

/**
 * Counts the rows of a table that have not expired, and the bytes of blobs. `placed` is the total size of the bodies
 * in files. Pauses after each batch, so that counting a million rows does not block the event loop.
 */
async function countRows(
  db: Store['db'],
  table: 'blobs' | 'records',
  now: number,
): Promise<{ count: number; bytes: number; placed: number }> {
  const [size, placed] = table === 'blobs' ? ['size', "file NOT LIKE 'blobs/%'"] : ['0', 'FALSE'];
  const sql = `SELECT count(*) AS rows, max(id) AS last, coalesce(sum(live), 0) AS count,
      coalesce(sum(size * live), 0) AS bytes, coalesce(sum(CASE WHEN placed THEN size END), 0) AS placed
    FROM (SELECT id, ${size} AS size, ${placed} AS placed, (expires IS NULL OR expires > ?) AS live
      FROM ${table} WHERE id > ? ORDER BY id LIMIT ${COUNT_BATCH})`;
  const total = { count: 0, bytes: 0, placed: 0 };
  for (let after = 0; ; await pause(0)) {
    const row = await db.retryWhileBusy(
      () => db.sql<typeof total & { rows: number; last: number }>(sql).get(now, after)!,
    );
    for (const figure of ['count', 'bytes', 'placed'] as const) total[figure] += row[figure];
    if (row.rows < COUNT_BATCH) return total;
    after = row.last;
  }
}

/** Maximum number of missing files that are named. */
const LISTED_FILES = 3;

/** Counts the bodies that have a row but no file, and names a few of the files. */
export async function missingBodies({ db, home, env }: Store): Promise<{ count: number; some: string[] }> {
  const some: string[] = [];
  let count = 0;
  for (let after = 0; ; ) {
    const rows = await db.retryWhileBusy(() =>
      db
        .sql<{ id: number; file: string }>(
          `SELECT id, file FROM blobs WHERE file IS NOT NULL AND id > ? AND (expires IS NULL OR expires > ?)
           ORDER BY id LIMIT ${RECORD_BATCH}`,
        )
        .all(after, env.now()),
    );
    for (const { id, file } of rows) {
      after = id;
      const exists = await fs.promises.access(join(home, file)).then(
        () => true,
        () => false,
      );
      if (exists) continue;
      count++;
      if (some.length < LISTED_FILES) some.push(file);
    }
    if (rows.length < RECORD_BATCH) return { count, some };
  }
}

/**
 * Names of the body folders that every sweep checks, because they have few files. The others may have any number of
 * files, so a sweep checks only one of them, in turn.
 */
const ALWAYS_SWEPT: ReadonlySet<string> = new Set([DRAFTS, SEGMENTS].map((path) => basename(path)));

/**
 * Lists the files in the body folders, including drafts. In round 0, lists all folders. In later rounds, lists the
 * folders of `ALWAYS_SWEPT` and one of the others, in turn.
 */
async function* listBodyFiles(home: string, round = 0): AsyncGenerator<{ path: string; file: string }> {
  const root = join(home, BODIES);
  const folders = await fs.promises.readdir(root).catch(() => []);
  const some = folders.filter((name) => !ALWAYS_SWEPT.has(name));
  const next = some[round % some.length];
  for (const folder of round === 0
    ? folders
    : folders.filter((name) => ALWAYS_SWEPT.has(name) || name === next)) {
    for (const name of await fs.promises.readdir(join(root, folder)).catch(() => [])) {
      yield { path: join(root, folder, name), file: `${BODIES}/${folder}/${name}` };
    }
  }
}

async function sizeOf(path: string): Promise<number> {
  const stat = await fs.promises.stat(path).catch(() => null);
  return stat?.size ?? 0;
}
