import { existsSync, promises } from 'node:fs';
import { join } from 'node:path';
import { isFull } from './failure.ts';
import { noteGone } from './gone.ts';
import { readSpot, SEGMENTS, type Segments, type Spot } from './segments.ts';
import type { Store } from './store.ts';

/** Bodies that are moved together: they share a wait for the disk. */
const AT_ONCE = 16;

interface Moving extends Spot {
  readonly id: number;
  readonly size: number;
  readonly expires: number | null;
}

/**
 * Moves what is left of those of these segments of which less than half still counts, so that they can go. A full disk ends
 * it; then it waits for room that others give back. Gives the segments to look at again.
 */
export async function compact(
  store: Store,
  segments: Segments,
  files: Iterable<string>,
): Promise<Set<string>> {
  const { db, home } = store;
  const left = new Set(files);
  const used = 'SELECT coalesce(sum(size), 0) AS bytes FROM blobs WHERE file = ?';
  const sql = 'SELECT id, file, offset, size, expires FROM blobs WHERE file = ? ORDER BY offset';
  for (const file of left) {
    const stat = await promises.stat(join(home, file)).catch(() => null);
    if (stat && segments.appendsTo(file)) continue;
    left.delete(file);
    if (!stat) continue;
    const { bytes } = await db.patiently(() => db.sql<{ bytes: number }>(used).get(file)!);
    if (bytes * 2 > stat.size) continue;
    const rows = await db.patiently(() => db.sql<Moving>(sql).all(file));
    try {
      for (let at = 0; at < rows.length; at += AT_ONCE) {
        await Promise.all(rows.slice(at, at + AT_ONCE).map((row) => move(store, segments, row)));
      }
    } catch (error) {
      if (isFull(error, db.path)) return left.add(file);
      throw error;
    }
  }
  return left;
}

export async function allSegments(home: string): Promise<string[]> {
  const names = await promises.readdir(join(home, SEGMENTS)).catch(() => []);
  return names.map((name) => `${SEGMENTS}/${name}`);
}

/**
 * Only if the row still says what it said when the body was read: whoever deletes, replaces or moves the body meanwhile
 * has it their way. Readers find the old place until the row names the new one. What cannot be read stays where it is.
 */
async function move({ db, queue, home }: Store, segments: Segments, row: Moving): Promise<void> {
  const body = readSpot(home, row, row.size);
  if (!body) return;
  const spot = await segments.append([body], row.expires);
  const sql = 'UPDATE blobs SET file = ?, offset = ? WHERE id = ? AND file = ? AND offset = ?';
  await queue.run(() => {
    if (!existsSync(join(home, spot.file))) return;
    const { changes } = db.sql(sql).run(spot.file, spot.offset, row.id, row.file, row.offset);
    if (changes === 0) noteGone({ db }, { ...spot, size: row.size });
  });
}
