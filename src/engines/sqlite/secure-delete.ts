import fs, { rmSync } from 'node:fs';
import { join } from 'node:path';
import { isPlaced } from './body-files.ts';
import type { Store } from './commit-queue.ts';
import type { Checkpoints } from './database.ts';

/** Time in ms between two wipes, so that deleted bytes are off the disk well within a minute. */
const WIPE_INTERVAL_MS = 10_000;

/** Number of queued rows that are wiped at once. */
const BATCH_ROWS = 200;

/** Location that a deleted body had. `file` is null if the body was in its row. */
export interface DeletedBody {
  readonly file: string | null;
  readonly offset: number | null;
  readonly size: number;
}

interface QueuedWipe extends DeletedBody {
  readonly id: number;
}

/**
 * Makes deleted bytes unreadable on disk. The transaction that deletes or replaces a row adds the location of its
 * body to the table `gone`, so that any process can wipe it later, even after a crash. Bodies in segments are
 * overwritten with zeros. SQLite overwrites bodies in rows (`secure_delete`), but the WAL may still contain them, so
 * the WAL is checkpointed and emptied.
 */
export class SecureDelete {
  readonly #store: Store;
  readonly #checkpoints: Checkpoints;
  readonly #timer: NodeJS.Timeout;
  #wiping: Promise<void> | undefined;
  /** Segments in which bodies were wiped since the last compaction. */
  #wipedSegments = new Set<string>();

  constructor(store: Store, checkpoints: Checkpoints) {
    this.#store = store;
    this.#checkpoints = checkpoints;
    this.#timer = setInterval(() => void this.wipe(), WIPE_INTERVAL_MS).unref();
  }

  /** Wipes all queued bodies. Never throws: bodies that could not be wiped stay in the queue. */
  wipe(): Promise<void> {
    this.#wiping ??= this.#wipe()
      .catch(() => {})
      .finally(() => {
        this.#wiping = undefined;
      });
    return this.#wiping;
  }

  /**
   * Calls `compact` with the segments that lost bodies since the last call. `compact` returns the segments to try
   * again later.
   */
  async compactWiped(compact: (files: Set<string>) => Promise<Set<string>>): Promise<void> {
    const files = this.#wipedSegments;
    this.#wipedSegments = new Set();
    for (const file of await compact(files)) this.#wipedSegments.add(file);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#wiping;
    await this.wipe();
  }

  async #wipe(): Promise<void> {
    const { db, queue } = this.#store;
    const sql = `SELECT id, file, offset, size FROM gone WHERE id > ? ORDER BY id LIMIT ${BATCH_ROWS}`;
    for (let after = 0; ; ) {
      const rows = await db.retryWhileBusy(() => db.sql<QueuedWipe>(sql).all(after));
      if (rows.length === 0) return;
      after = rows.at(-1)!.id;
      const byFile = Map.groupBy(rows, ({ file }) => file);
      const done: number[] = [];
      for (const [file, some] of byFile) {
        const wiped = file === null ? await this.#checkpoints.emptyWal() : await this.#wipeFile(file, some);
        if (wiped) done.push(...some.map(({ id }) => id));
      }
      if (done.length === 0) continue;
      await queue.free(() => {
        for (const id of done) db.sql('DELETE FROM gone WHERE id = ?').run(id);
      });
    }
  }

  async #wipeFile(file: string, rows: readonly QueuedWipe[]): Promise<boolean> {
    if (await removeUnused(this.#store, file)) return true;
    const handle = await fs.promises.open(join(this.#store.home, file), 'r+').catch(() => null);
    if (!handle) return true;
    try {
      const zeros = Buffer.alloc(Math.max(...rows.map(({ size }) => size)));
      for (const { offset, size } of rows) await handle.write(zeros, 0, size, offset);
      await handle.datasync();
      this.#wipedSegments.add(file);
      return true;
    } finally {
      await handle.close();
    }
  }
}

/**
 * Queues a deleted body for wiping. Must run inside the transaction that deletes its row. A body in a file of
 * its own is not queued, because the file is deleted at once. A body at a path of `Place` may have been in
 * its row earlier, so the WAL may contain its bytes and is wiped.
 */
export function queueForWipe({ db }: Pick<Store, 'db'>, { file, offset, size }: DeletedBody): void {
  const isFile = file !== null && offset === null;
  if (isFile && !isPlaced(file)) return;
  db.sql('INSERT INTO gone (file, offset, size) VALUES (?, ?, ?)').run(isFile ? null : file, offset, size);
}

/**
 * Deletes a file to which no row refers, and returns whether it did. Checks the rows inside a transaction: after a
 * clock jump, a file that looks old may be about to get its row.
 */
export async function removeUnused({ db, queue, home }: Store, file: string): Promise<boolean> {
  const isUsed = () => db.sql('SELECT 1 FROM blobs WHERE file = ?').get(file) !== undefined;
  if (await db.retryWhileBusy(isUsed)) return false;
  return queue.free(() => {
    if (isUsed()) return false;
    rmSync(join(home, file), { force: true });
    return true;
  });
}
