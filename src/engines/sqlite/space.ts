import { promises } from 'node:fs';
import { join } from 'node:path';
import type { Env } from '../../base/env.ts';
import { ORPHAN_AGE_MS } from '../../base/limits.ts';
import type { Swept, Usage } from '../../kernel/engine.ts';
import type { SqliteBlobs } from './blobs.ts';
import { BODIES } from './body-files.ts';
import type { Checkpoints } from './checkpoint.ts';
import type { CommitQueue } from './commit-queue.ts';
import type { Database } from './database.ts';
import { DELETE_ENTRIES } from './logs.ts';

/** Rows, and pages of the file, that one transaction deals with: some milliseconds of the lock. */
const RECORDS = 500;
const BLOBS = 50;
const PAGES = 256;

/** Free pages that stay in the file for what comes next: 2 MiB. */
const SPARE_PAGES = 256;

/** Reclaims what expired, what was dropped and what was left behind, in steps between which others write. */
export class Sweeper {
  readonly #db: Database;
  readonly #queue: CommitQueue;
  readonly #blobs: SqliteBlobs;
  readonly #checkpoints: Checkpoints;
  readonly #home: string;
  readonly #env: Env;
  #running: Promise<Swept> | undefined;

  constructor(
    db: Database,
    queue: CommitQueue,
    blobs: SqliteBlobs,
    checkpoints: Checkpoints,
    home: string,
    env: Env,
  ) {
    this.#db = db;
    this.#queue = queue;
    this.#blobs = blobs;
    this.#checkpoints = checkpoints;
    this.#home = home;
    this.#env = env;
  }

  /** One at a time: who asks while it runs gets the same answer. */
  sweep(): Promise<Swept> {
    this.#running ??= this.#sweep().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #sweep(): Promise<Swept> {
    const now = this.#env.now();
    const expired = await this.#expiredBlobs(now);
    const records = await this.#expiredRecords(now);
    await this.#droppedStreams();
    const orphans = await this.#orphans(now - ORPHAN_AGE_MS);
    await this.#giveBack();
    return { blobs: expired.blobs + orphans.blobs, records, bytes: expired.bytes + orphans.bytes };
  }

  async #expiredBlobs(now: number): Promise<{ blobs: number; bytes: number }> {
    let blobs = 0;
    let bytes = 0;
    for (;;) {
      const rows = await this.#queue.run(() => {
        const sql = `DELETE FROM blobs WHERE id IN (SELECT id FROM blobs WHERE expires <= ? LIMIT ${BLOBS})
          RETURNING size, file`;
        return this.#db.sql<{ size: number; file: string | null }>(sql).all(now);
      });
      for (const { size, file } of rows) {
        blobs++;
        bytes += size;
        if (file !== null) await this.#blobs.removeBody(file);
      }
      if (rows.length < BLOBS) return { blobs, bytes };
    }
  }

  async #expiredRecords(now: number): Promise<number> {
    const sql = `DELETE FROM records WHERE key IN (SELECT key FROM records WHERE expires <= ? LIMIT ${RECORDS})`;
    return this.#inSteps(RECORDS, () => Number(this.#db.sql(sql).run(now).changes));
  }

  /** A dropped stream goes when its last entry has gone. */
  async #droppedStreams(): Promise<void> {
    for (;;) {
      const found = await this.#db.patiently(() =>
        this.#db.sql<{ id: number }>('SELECT id FROM streams WHERE name IS NULL').get(),
      );
      if (!found) return;
      const { id } = found;
      const sql = `DELETE FROM entries WHERE stream = ?1 AND seq <=
        (SELECT max(seq) FROM (SELECT seq FROM entries WHERE stream = ?1 ORDER BY seq LIMIT ${DELETE_ENTRIES}))`;
      await this.#inSteps(DELETE_ENTRIES, () => Number(this.#db.sql(sql).run(id).changes));
      await this.#queue.run(() => this.#db.sql('DELETE FROM streams WHERE id = ?').run(id));
    }
  }

  /** Files that no row refers to, old enough that none is about to. */
  async #orphans(before: number): Promise<{ blobs: number; bytes: number }> {
    let blobs = 0;
    let bytes = 0;
    for await (const { path, file } of bodyFiles(this.#home)) {
      const stat = await promises.stat(path).catch(() => null);
      if (!stat?.isFile() || stat.mtimeMs > before) continue;
      const used = await this.#db.patiently(() =>
        this.#db.sql('SELECT 1 FROM blobs WHERE file = ?').get(file),
      );
      if (used) continue;
      await promises.rm(path, { force: true });
      blobs++;
      bytes += stat.size;
    }
    return { blobs, bytes };
  }

  /** Moves free pages to the end of the file and cuts them off. */
  async #giveBack(): Promise<void> {
    const free = () =>
      this.#db.sql<{ freelist_count: number }>('PRAGMA freelist_count').get()!.freelist_count;
    let before = await this.#db.patiently(free);
    if (before <= SPARE_PAGES) return;
    for (;;) {
      await this.#queue.run(() =>
        this.#db.exec(`PRAGMA incremental_vacuum(${Math.min(PAGES, before - SPARE_PAGES)})`),
      );
      const left = await this.#db.patiently(free);
      if (left <= SPARE_PAGES || left >= before) break;
      before = left;
    }
    await this.#checkpoints.settle();
  }

  async #inSteps(size: number, step: () => number): Promise<number> {
    for (let sum = 0; ; ) {
      const count = await this.#queue.run(step);
      sum += count;
      if (count < size) return sum;
    }
  }
}

/** What has expired and waits for a sweep still takes its room on disk, but is no longer counted. */
export async function usageOf(db: Database, home: string, env: Env): Promise<Usage> {
  const row = await db.patiently(() => {
    const sql = `WITH live AS (SELECT size FROM blobs WHERE expires IS NULL OR expires > ?1) SELECT
      (SELECT count(*) FROM live) AS blobs,
      (SELECT coalesce(sum(size), 0) FROM live) AS bytes,
      (SELECT count(*) FROM records WHERE expires IS NULL OR expires > ?1) AS records,
      (SELECT coalesce(sum(count), 0) FROM streams WHERE name IS NOT NULL) AS entries,
      (SELECT coalesce(sum(size), 0) FROM blobs WHERE file NOT LIKE 'blobs/%') AS placed`;
    return db.sql<Record<'blobs' | 'bytes' | 'records' | 'entries' | 'placed', number>>(sql).get(env.now())!;
  });
  let diskBytes = row.placed;
  for (const end of ['', '-wal', '-shm']) diskBytes += await sizeOf(db.path + end);
  for await (const { path } of bodyFiles(home)) diskBytes += await sizeOf(path);
  return {
    blobs: { count: row.blobs, bytes: row.bytes },
    records: row.records,
    entries: row.entries,
    diskBytes,
  };
}

/** Every file under the folder of bodies, drafts included, one folder at a time. */
async function* bodyFiles(home: string): AsyncGenerator<{ path: string; file: string }> {
  const root = join(home, BODIES);
  for (const folder of await promises.readdir(root).catch(() => [])) {
    for (const name of await promises.readdir(join(root, folder)).catch(() => [])) {
      yield { path: join(root, folder, name), file: `${BODIES}/${folder}/${name}` };
    }
  }
}

async function sizeOf(path: string): Promise<number> {
  const stat = await promises.stat(path).catch(() => null);
  return stat?.size ?? 0;
}
