import { toHex } from '../../base/ids.ts';
import { mapConcurrent } from '../../base/map-concurrent.ts';
import { pause } from '../../base/pause.ts';
import { readText } from '../../base/utf8.ts';
import type { Deps } from '../deps.ts';
import { allRecords, recordsOf } from '../records.ts';
import type { ThreadFigures } from './token-ledger.ts';

/**
 * Minimum number of changed threads before the figures are saved again. For a large tenant the number is
 * higher: a tenth of all threads.
 */
const SAVE_EVERY = 100;
/**
 * Age in ms from which the mark of a changed thread may be removed. On an engine without transactions, a
 * mark may become visible before the write to its thread, by less than this time. As long as the mark
 * exists, every request for totals reads the thread again, so the write is not missed.
 */
const SETTLE_MS = 60_000;
/**
 * Lifetime of the saved figures in ms. After it, all threads are summed again. A mark lives longer than the
 * figures that it corrects.
 */
const SAVED_MS = 30 * 24 * 60 * 60 * 1000;
/** Maximum number of threads that are read at once. */
const READ_AT_ONCE = 50;

/**
 * Returns the prefix of the marks. A mark is a record for a thread that changed since the last save. Its
 * value is the time of the thread's last change.
 */
const marksPrefix = (tenant: string) => `ten.${tenant}/changed/`;
/**
 * Returns the key of the record that names the blob with the saved figures. The number is the format
 * version: other formats are not read.
 */
const savedKey = (tenant: string) => `ten.${tenant}/totals.4`;

type Store = Pick<Deps, 'engine' | 'env'>;

/** Reads the threads of a tenant, for the totals. */
interface Threads {
  all(): AsyncIterable<string>;
  /** Returns the figures of a thread. Returns null if the thread does not exist. */
  figures(id: string): Promise<ThreadFigures | null>;
}

/**
 * Marks a thread as changed. Call it in the same tick as the write, so that an engine with group commit
 * writes both in one transaction.
 */
export async function markChanged({ engine, env }: Store, tenant: string, id: string): Promise<void> {
  try {
    const now = env.now();
    await engine.records.put(marksPrefix(tenant) + id, now, {
      frees: true,
      expiresAt: now + SAVED_MS + SETTLE_MS,
    });
  } catch {
    // If the mark cannot be written, the write itself must still succeed. So delete the saved figures
    // instead: then all threads are summed again.
    await engine.records.delete(savedKey(tenant)).catch(() => {});
  }
}

/**
 * Returns the figures of every thread of a tenant: the saved figures, updated for threads that changed
 * since. If there are no saved figures, reads all threads. So deleting the record rebuilds the figures.
 */
export async function readFigures(store: Store, tenant: string, threads: Threads): Promise<ThreadFigures[]> {
  const { engine, env } = store;
  const prefix = marksPrefix(tenant);
  // Read the marks before the saved figures. A save writes the figures first and then removes marks, so a
  // missing mark means that the figures read later include the change.
  const marks = await Array.fromAsync(allRecords(recordsOf<number>(engine.records), prefix));
  const saved = await recordsOf<{ readonly blob: string }>(engine.records).get(savedKey(tenant));
  const found = saved && (await engine.blobs.get(saved.value.blob));
  const figures = new Map<string, ThreadFigures>(found ? JSON.parse(await readText(found.body)) : []);
  const read = (ids: Iterable<string> | AsyncIterable<string>) =>
    mapConcurrent(
      ids,
      async (id) => {
        const current = await threads.figures(id);
        if (current) figures.set(id, current);
        else figures.delete(id);
        // Yield to the event loop.
        await pause(0);
      },
      READ_AT_ONCE,
    );
  if (!found) {
    await deleteOldTotals(store, tenant);
    await read(threads.all());
  }
  await read(marks.map(({ key }) => key.slice(prefix.length)));
  const settled = marks.filter(({ value }) => value <= env.now() - SETTLE_MS);
  if (!found || settled.length >= Math.max(SAVE_EVERY, figures.size / 10)) {
    const isSaved = await save(store, tenant, figures, saved).catch(() => false);
    // Delete marks only with the revision that was read. If a thread changed again meanwhile, its mark has
    // a new revision and stays.
    if (isSaved)
      for (const { key, revision } of settled) await engine.records.delete(key, { expect: revision });
  }
  return [...figures.values()];
}

/** Saves the figures. Returns false if another process saved meanwhile. */
async function save(
  { engine, env }: Store,
  tenant: string,
  figures: ReadonlyMap<string, ThreadFigures>,
  before: { readonly value: { readonly blob: string }; readonly revision: number } | null,
): Promise<boolean> {
  const blob = `${savedKey(tenant)}/${toHex(env.randomBytes(8))}`;
  const expiresAt = env.now() + SAVED_MS;
  const body = new TextEncoder().encode(JSON.stringify([...figures]));
  await engine.blobs.put(blob, body, { expiresAt });
  const expect = before?.revision ?? 'absent';
  const isSaved = (await engine.records.put(savedKey(tenant), { blob }, { expect, expiresAt })) !== null;
  const unused = isSaved ? before?.value.blob : blob;
  if (unused !== undefined) await engine.blobs.delete(unused);
  return isSaved;
}

/** Deletes the saved figures and the log of changes that earlier versions of the relay wrote. */
async function deleteOldTotals({ engine }: Store, tenant: string): Promise<void> {
  const key = `ten.${tenant}/totals.2`;
  const former = await recordsOf<{ readonly blob: string }>(engine.records).get(key);
  if (former) await engine.blobs.delete(former.value.blob);
  if (former) await engine.records.delete(key);
  await engine.logs.drop(`tch.${tenant}`);
}
