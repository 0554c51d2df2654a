import { promises, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isPlaced } from './body-files.ts';
import type { Store } from './commit-queue.ts';
import type { Checkpoints } from './database.ts';

/** How often to look for what was deleted since: the bytes are off the disk well within a minute. */
const WIPE_INTERVAL_MS = 10_000;

/** What is dealt with at a time. */
const BATCH_ROWS = 200;

/** The place of a body that a row named; `file` is null for one that was in the row itself. */
export interface DeletedBody {
  readonly file: string | null;
  readonly offset: number | null;
  readonly size: number;
}

interface QueuedWipe extends DeletedBody {
  readonly id: number;
}

/**
 * What was deleted or replaced, until no file of the store shows it any more. The transaction that takes a row away
 * notes where its body was, so that whichever process is there afterwards can see to it. Bodies in segments are
 * overwritten with zeros; of bodies in rows SQLite has done so (`secure_delete`), and the WAL that may still show them is
 * written back and emptied.
 */
export class SecureDelete {
  readonly #store: Store;
  readonly #checkpoints: Checkpoints;
  readonly #timer: NodeJS.Timeout;
  #wiping: Promise<void> | undefined;
  /** Segments out of which something was wiped. */
  #wipedSegments = new Set<string>();

  constructor(store: Store, checkpoints: Checkpoints) {
    this.#store = store;
    this.#checkpoints = checkpoints;
    this.#timer = setInterval(() => void this.wipe(), WIPE_INTERVAL_MS).unref();
  }

  /** Never fails: what could not be done stays noted. */
  wipe(): Promise<void> {
    this.#wiping ??= this.#wipe()
      .catch(() => {})
      .finally(() => {
        this.#wiping = undefined;
      });
    return this.#wiping;
  }

  /** The segments that have lost something since this was last asked; `deal` gives those to look at again. */
  async compactWiped(deal: (files: Set<string>) => Promise<Set<string>>): Promise<void> {
    const files = this.#wipedSegments;
    this.#wipedSegments = new Set();
    for (const file of await deal(files)) this.#wipedSegments.add(file);
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
    const handle = await promises.open(join(this.#store.home, file), 'r+').catch(() => null);
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
 * Inside the transaction that takes the rows away. Whole files are not noted: they are removed at once. But one at a place may
 * have been in its row before it was there, and the WAL may show that.
 */
export function queueForWipe({ db }: Pick<Store, 'db'>, { file, offset, size }: DeletedBody): void {
  const isFile = file !== null && offset === null;
  if (isFile && !isPlaced(file)) return;
  db.sql('INSERT INTO gone (file, offset, size) VALUES (?, ?, ?)').run(isFile ? null : file, offset, size);
}

/**
 * Removes a file if no row names it, under the lock: after a clock has jumped, what looks old may be about to get its
 * row. Whether it is gone.
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
