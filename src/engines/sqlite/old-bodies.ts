import { promises } from 'node:fs';
import { dirname, join } from 'node:path';
import { BlockHashes } from '../../kernel/block-hashes.ts';
import { BodyFile } from './body-stream.ts';
import { DATABASE_FILE } from './opening.ts';
import type { Store } from './store.ts';

/** How long the copy stays that was made of a database before its format was changed. */
const COPY_MS = 7 * 24 * 3_600_000;

/** Read together, so that their rows share a commit. */
const AT_ONCE = 16;

interface OldRow {
  readonly id: number;
  readonly sha256: string;
  readonly file: string | null;
  readonly body: Uint8Array | null;
}

/**
 * What is left to do once a store was brought forward, a step at a time and from wherever it was broken off: bodies of
 * format 1 get the hashes of their blocks. One that is not what was stored gets none, so that whoever reads it is told.
 */
export async function hashOldBodies({ db, queue, home, crc32 }: Store): Promise<void> {
  const sql = `SELECT id, sha256, file, body FROM blobs WHERE blocks IS NULL AND id > ? ORDER BY id LIMIT ${AT_ONCE}`;
  const update = 'UPDATE blobs SET blocks = ? WHERE id = ? AND sha256 = ? AND blocks IS NULL';
  for (let after = 0; ; ) {
    const rows = await db.patiently(() => db.sql<OldRow>(sql).all(after));
    if (rows.length === 0) return;
    after = rows.at(-1)!.id;
    await Promise.all(
      rows.map(async (row) => {
        const sha256 = process.getBuiltinModule('node:crypto').createHash('sha256');
        const blocks = new BlockHashes(crc32);
        for await (const piece of piecesOf(home, row)) {
          sha256.update(piece);
          blocks.update(piece);
        }
        if (sha256.digest('hex') !== row.sha256) return;
        await queue.run(() => db.sql(update).run(blocks.digest(), row.id, row.sha256), row.body?.length);
      }),
    );
  }
}

async function* piecesOf(home: string, { file, body }: OldRow): AsyncGenerator<Uint8Array> {
  if (file === null) yield body!;
  else {
    using open = BodyFile.open(join(home, file));
    if (open) yield* open.stream(0, open.size);
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
