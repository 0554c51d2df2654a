import { mapConcurrent } from '../../base/map-concurrent.ts';
import { pause } from '../../base/pause.ts';
import type { Stats } from '../../contract/threads.ts';
import type { Deps } from '../deps.ts';
import { allRecords, recordsOf } from '../records.ts';
import { listPrefix } from './keys.ts';

/**
 * Time in ms for which the figures of a changed thread are not cached. On an engine without transactions, readers may
 * see the record of a change up to this long before they see the change itself, and would cache old figures.
 */
const SETTLE_MS = 60_000;
/** Time in ms after which a record of cached figures expires. The figures are then computed again. */
const KEPT_MS = 30 * 24 * 60 * 60 * 1000;
/** Maximum number of threads that are read concurrently. */
const READ_AT_ONCE = 50;

/** Figures of one thread that are summed over threads. */
export type ThreadFigures = Omit<Stats, 'thread_id' | 'recent_prompts'>;

/** Cached figures of a thread. A change of the thread replaces the record by one without figures. */
interface CachedFigures {
  /** Time of the thread's last change, in ms. */
  readonly changed: number;
  readonly figures?: ThreadFigures;
}

const cachePrefix = (tenant: string) => `ten.${tenant}/thread-figures/`;

type Store = Pick<Deps, 'engine' | 'env'>;

/**
 * Removes the figures of a changed thread from the cache. Call it in the same tick as the write, so that an
 * engine with group commit writes both in one transaction.
 */
export async function markChanged(
  { engine: { records }, env }: Store,
  tenant: string,
  id: string,
): Promise<void> {
  const key = cachePrefix(tenant) + id;
  const changed = env.now();
  // If the store has no room for the record, the change of the thread must still succeed. Without a record,
  // the figures are computed again.
  await records
    .put(key, { changed }, { frees: true, expiresAt: changed + KEPT_MS })
    .catch(() => records.delete(key).catch(() => {}));
}

/**
 * Returns the figures of each thread of a tenant. Leaves out threads whose names begin with a dot. `compute` returns
 * the figures of a thread whose figures are not cached, or null if the thread does not exist.
 */
export async function tenantFigures(
  { engine, env }: Store,
  tenant: string,
  compute: (id: string) => Promise<ThreadFigures | null>,
): Promise<ThreadFigures[]> {
  const records = recordsOf<CachedFigures>(engine.records);
  const cached = await Array.fromAsync(allRecords(records, cachePrefix(tenant)));
  const byKey = new Map(cached.map((record) => [record.key, record]));
  const listed = await Array.fromAsync(
    allRecords(recordsOf<{ name?: string }>(engine.records), listPrefix(tenant)),
  );
  const ids = listed.flatMap(({ key, value }) =>
    value.name?.startsWith('.') ? [] : [key.slice(key.lastIndexOf('.') + 1)],
  );
  // A thread without a record was last changed by an earlier version, or its record has expired.
  if (ids.some((id) => !byKey.has(cachePrefix(tenant) + id))) await deleteOldTotals(engine, tenant);
  const all = await mapConcurrent(
    ids,
    async (id) => {
      const key = cachePrefix(tenant) + id;
      const { value, revision } = byKey.get(key) ?? { value: { changed: 0 }, revision: 'absent' as const };
      if (value.figures) return value.figures;
      const figures = await compute(id);
      const now = env.now();
      // If the thread has changed since its record was read, the put returns null and caches nothing.
      if (figures && value.changed <= now - SETTLE_MS)
        await records
          .put(key, { ...value, figures }, { expect: revision, expiresAt: now + KEPT_MS })
          .catch(() => {});
      // Yield to the event loop.
      await pause(0);
      return figures;
    },
    READ_AT_ONCE,
  );
  return all.filter((figures) => figures !== null);
}

/** Deletes the figures and the log of changes that version 0.2 of the relay stored. */
async function deleteOldTotals({ blobs, records, logs }: Store['engine'], tenant: string): Promise<void> {
  const key = `ten.${tenant}/totals.2`;
  const stored = await recordsOf<{ readonly blob: string }>(records).get(key);
  if (stored) await blobs.delete(stored.value.blob);
  await records.delete(key);
  await logs.drop(`tch.${tenant}`);
}
