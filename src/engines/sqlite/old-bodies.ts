import { promises } from 'node:fs';
import { dirname, join } from 'node:path';
import { measured, type StoredBody } from './body-check.ts';
import { DATABASE_FILE } from './opening.ts';
import type { Store } from './store.ts';

/** How long the copy stays that was made of a database before its format was changed. */
const COPY_MS = 7 * 24 * 3_600_000;

/** Read together, so that their rows share a commit. */
const AT_ONCE = 16;

interface OldRow extends StoredBody {
  readonly id: number;
}

/**
 * What is left to do once a store was brought forward, a step at a time and from wherever it was broken off: bodies of
 * format 1 get the hashes of their blocks. One that is not what was stored gets none, so that whoever reads it is told.
 */
export async function hashOldBodies(store: Store): Promise<void> {
  const { db, queue } = store;
  const sql = `SELECT id, sha256, size, file, offset, blocks, body FROM blobs WHERE blocks IS NULL AND id > ? ORDER BY id LIMIT ${AT_ONCE}`;
  const update = 'UPDATE blobs SET blocks = ? WHERE id = ? AND sha256 = ? AND blocks IS NULL';
  for (let after = 0; ; ) {
    const rows = await db.patiently(() => db.sql<OldRow>(sql).all(after));
    if (rows.length === 0) return;
    after = rows.at(-1)!.id;
    await Promise.all(
      rows.map(async (row) => {
        const found = await measured(store, row);
        if (found?.sha256 !== row.sha256) return;
        await queue.run(() => db.sql(update).run(found.blocks, row.id, row.sha256), row.body?.length);
      }),
    );
  }
}

/** It shows what was deleted since, and is of no use once much has changed. */
export async function removeOldCopies(path: string, now: number): Promise<void> {
  const folder = dirname(path);
  for (const name of await promises.readdir(folder)) {
    if (!name.startsWith(`${DATABASE_FILE}-format-`)) continue;
    const copy = join(folder, name);
    const stat = await promises.stat(copy).catch(() => null);
    if (stat && stat.mtimeMs < now - COPY_MS) await promises.rm(copy, { force: true });
  }
}
