import { isRef } from '../../base/ids.ts';
import { ORPHAN_AGE_MS } from '../../base/limits.ts';
import type { Deps } from '../deps.ts';
import { EndIndex } from '../end-index.ts';
import { withLease } from '../lease.ts';
import { idOf, listKey, lockKey, logOf, metaKey, rootsFor, type ThreadRoot, threadPrefix } from './keys.ts';
import { markChanged } from './tenant-totals.ts';
import type { ThreadLog, ThreadVerb } from './thread-log.ts';

/** Data that is needed to delete a thread after its meta record has expired. */
interface ThreadEnd {
  readonly tenant: string;
  readonly id: string;
  readonly created: number;
}

/** Index of threads by expiry time. */
export const threadEnds = (deps: Pick<Deps, 'engine' | 'env'>) => new EndIndex<ThreadEnd>(deps, 'sys.thr/');

/** Number of items deleted per batch. With large batches, an engine can commit many deletions together. */
const DELETE_BATCH = 250;

/**
 * Deletes a thread. The meta record is deleted first: from then on the thread does not exist. The list entry is
 * deleted last: after a crash, a listing finds it and finishes the deletion.
 */
export const deleteThread: ThreadVerb<'delete'> = async (log, caller, id) => {
  const { records } = log.deps.engine;
  const { tenant } = caller;
  await log.ledger.flush();
  const { root, created, expires, name } = await log.meta(caller, id);
  const bytes = await storedBytesAt(log, root);
  const [deleted] = await Promise.all([records.delete(metaKey(root)), markChanged(log.deps, tenant, id)]);
  // If several deletions run concurrently, only one of them frees the quota. If a crash prevents this, the next
  // recount corrects the quota.
  if (deleted) await log.storage.freed(tenant, bytes);
  if (await clearUnownedRoot(log, tenant, root)) {
    if (expires !== undefined) await threadEnds(log.deps).forget(expires, id);
    await records.delete(listKey(tenant, id, created));
  }
  if (deleted) noteDeletion(log, tenant, caller.name, id, name);
};

/** Deletes the data of expired threads. */
export async function removeExpiredThreads(log: ThreadLog): Promise<void> {
  const ends = threadEnds(log.deps);
  await ends.forDue(async (end) => {
    const { tenant, id, created } = end;
    // The entry is outdated: the thread was deleted before it expired, then imported again, and now exists.
    if (await log.find(tenant, id)) return;
    const bytes = await remainingBytes(log, tenant, id);
    const deleted = await log.deps.engine.records.delete(listKey(tenant, id, created));
    if (deleted) await log.storage.freed(tenant, bytes);
    for (const root of rootsFor(tenant, id)) {
      if (!(await clearUnownedRoot(log, tenant, root)))
        await ends.note(log.deps.env.now() + ORPHAN_AGE_MS, id, end, { frees: true });
    }
    if (deleted) noteDeletion(log, tenant, 'relay', id, '');
  });
}

function noteDeletion(log: ThreadLog, tenant: string, by: string, thread: string, name: string): void {
  log.deps.activity.note(tenant, { kind: 'thread.deleted', by, thread, name: name || undefined });
}

/**
 * Returns how many bytes of the quota a listed thread uses. An expired thread uses quota until its list entry is
 * deleted. A deleted thread uses quota until its meta record is deleted.
 */
export async function quotaBytesOf(
  log: ThreadLog,
  { tenant, id, expires }: { tenant: string; id: string; expires?: number },
): Promise<number> {
  const found = await log.find(tenant, id);
  if (found) return (await log.heads.load(found.root))?.totals.stored ?? 0;
  return expires === undefined || expires > log.deps.env.now() ? 0 : remainingBytes(log, tenant, id);
}

/** Returns the bytes that are still stored for a thread without a meta record. */
async function remainingBytes(log: ThreadLog, tenant: string, id: string): Promise<number> {
  for (const root of rootsFor(tenant, id)) {
    const bytes = (await log.ownerOf(root)) === undefined ? await storedBytesAt(log, root) : 0;
    if (bytes > 0) return bytes;
  }
  return 0;
}

/** Returns the bytes stored for a thread, or 0 if its log cannot be read. */
async function storedBytesAt(log: ThreadLog, root: ThreadRoot): Promise<number> {
  return (await log.heads.load(root).catch(() => null))?.totals.stored ?? 0;
}

/** Finishes a deletion that a crash interrupted. `listed` is the key of the thread's list entry. */
export async function finishDeletion(log: ThreadLog, tenant: string, listed: string): Promise<void> {
  const id = listed.slice(listed.lastIndexOf('.') + 1);
  if (await log.find(tenant, id)) return;
  for (const root of rootsFor(tenant, id)) if (!(await clearUnownedRoot(log, tenant, root))) return;
  await log.deps.engine.records.delete(listed);
}

/**
 * Deletes the data at a root without a meta record. Returns false if an import or deletion holds the root's
 * lock.
 */
async function clearUnownedRoot(log: ThreadLog, tenant: string, root: ThreadRoot): Promise<boolean> {
  const work = async () => {
    if ((await log.ownerOf(root)) === undefined) await clearThread(log, tenant, root);
    return true;
  };
  return (await withLease(log.deps, lockKey(root), work, { frees: true })) ?? false;
}

/** Deletes everything under a root, except the lock record. */
export async function clearThread(log: ThreadLog, tenant: string, root: ThreadRoot): Promise<void> {
  const { blobs, logs, records } = log.deps.engine;
  const id = idOf(root);
  log.heads.forget(root);
  const prefix = threadPrefix(root);
  for (let more = true; more; ) {
    const { items, next } = await records.list(prefix, { limit: DELETE_BATCH });
    const others = items.filter(({ key }) => key !== lockKey(root));
    // Remove index entries before the artifact records, because the keys of the index entries are made from
    // these records.
    const artifacts = others.flatMap(({ key, value }) => {
      const ref = key.slice(key.lastIndexOf('/') + 1);
      const { size = 0 } = value as { size?: number };
      return isRef(ref) ? [{ thread_id: id, ref, size }] : [];
    });
    await log.index.remove(tenant, ...artifacts);
    await Promise.all(others.map(({ key }) => records.delete(key)));
    more = next !== undefined;
  }
  for (;;) {
    const { items } = await blobs.list(prefix, { limit: DELETE_BATCH });
    await Promise.all(items.map(({ key }) => blobs.delete(key)));
    if (items.length === 0) break;
  }
  await logs.drop(logOf(root));
  for (const follower of log.followers) follower.removed?.(root);
}
