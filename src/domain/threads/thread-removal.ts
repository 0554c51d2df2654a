import { isRelayError } from '../../base/errors.ts';
import { isRef, toHex } from '../../base/ids.ts';
import { ORPHAN_AGE_MS } from '../../base/limits.ts';
import type { Deps } from '../deps.ts';
import { EndIndex } from '../end-index.ts';
import { allRecords } from '../records.ts';
import {
  idOf,
  listKey,
  listPrefix,
  logOf,
  metaKey,
  rootsFor,
  type ThreadRoot,
  threadPrefix,
  turnKey,
} from './keys.ts';
import type { ThreadLog, ThreadVerb } from './thread-log.ts';

/** Enough to delete what is left of a thread, whose own record is gone by then. */
interface ThreadEnd {
  readonly tenant: string;
  readonly id: string;
  readonly created: number;
}

/** Which threads end when. */
export const threadEnds = (deps: Pick<Deps, 'engine' | 'env'>) => new EndIndex<ThreadEnd>(deps, 'sys.thr/');

/** What is deleted in one turn: an engine then commits much of it together. */
const CLEARED_AT_ONCE = 250;

/**
 * The record that makes it a thread goes first: from then on it does not exist. The entry in the list goes last, so
 * that whatever a crash leaves behind is found again.
 */
export const deleteThread: ThreadVerb<'delete'> = async (log, caller, id) => {
  const { records } = log.deps.engine;
  const { tenant } = caller;
  await log.ledger.flush();
  const { root, created, expires, name } = await log.meta(caller, id);
  const bytes = await storedIn(log, root);
  const [deleted] = await Promise.all([records.delete(metaKey(root)), log.changed(tenant, id)]);
  // One of those who delete it at the same time. A crash before this is for the recount.
  if (deleted) await log.storage.freed(tenant, bytes);
  if (await removeRemains(log, tenant, root)) {
    if (expires !== undefined) await threadEnds(log.deps).forget(expires, id);
    await records.delete(listKey(tenant, id, created));
  }
  if (deleted) noteDeletion(log, tenant, caller.name, id, name);
};

/** Deletes what is left of threads that have expired. */
export async function removeExpiredThreads(log: ThreadLog, most?: number): Promise<void> {
  const ends = threadEnds(log.deps);
  await ends.forDue(async (end) => {
    const { tenant, id, created } = end;
    // Deleted before its end, and imported again.
    if (await log.find(tenant, id)) return;
    const bytes = await remainingBytes(log, tenant, id);
    const [deleted] = await Promise.all([
      log.deps.engine.records.delete(listKey(tenant, id, created)),
      log.changed(tenant, id),
    ]);
    if (deleted) await log.storage.freed(tenant, bytes);
    for (const root of rootsFor(tenant, id)) {
      if (!(await removeRemains(log, tenant, root)))
        await ends.note(log.deps.env.now() + ORPHAN_AGE_MS, id, end, { frees: true });
    }
    if (deleted) noteDeletion(log, tenant, 'relay', id, '');
  }, most);
}

function noteDeletion(log: ThreadLog, tenant: string, by: string, thread: string, name: string): void {
  log.deps.activity.note(tenant, { kind: 'thread.deleted', by, thread, ...(name ? { name } : {}) });
}

/**
 * What a thread that is in the list counts for. One that has expired counts until it is taken from the list, and one that is deleted
 * from the moment its record is gone.
 */
export async function countedFor(
  log: ThreadLog,
  { tenant, id, expires }: { tenant: string; id: string; expires?: number },
): Promise<number> {
  const found = await log.find(tenant, id);
  if (found) return (await log.heads.load(found.root))?.totals.stored ?? 0;
  return expires === undefined || expires > log.deps.env.now() ? 0 : remainingBytes(log, tenant, id);
}

/** What is left of a thread whose record is gone. */
async function remainingBytes(log: ThreadLog, tenant: string, id: string): Promise<number> {
  for (const root of rootsFor(tenant, id)) {
    const bytes = (await log.ownerOf(root)) === undefined ? await storedIn(log, root) : 0;
    if (bytes > 0) return bytes;
  }
  return 0;
}

/** What a thread takes up, as far as its log can be read. */
async function storedIn(log: ThreadLog, root: ThreadRoot): Promise<number> {
  return (await log.heads.load(root).catch(() => null))?.totals.stored ?? 0;
}

/** Finishes the deletion of a thread that a crash left half done. */
export async function finishDeletion(log: ThreadLog, tenant: string, id: string): Promise<void> {
  const { records } = log.deps.engine;
  if (await log.find(tenant, id)) return;
  for (const root of rootsFor(tenant, id)) if (!(await removeRemains(log, tenant, root))) return;
  for await (const { key } of allRecords(records, listPrefix(tenant))) {
    if (key.endsWith(`.${id}`)) await records.delete(key);
  }
}

/** Clears a root that has no record. False where somebody is at work there; the remains are then for a later call. */
async function removeRemains(log: ThreadLog, tenant: string, root: ThreadRoot): Promise<boolean> {
  const work = async () => {
    if ((await log.ownerOf(root)) === undefined) await clearThread(log, tenant, root);
    return true;
  };
  return (await inTurn(log, root, work, { frees: true })) ?? false;
}

/** How long a turn lasts that a crash left. Whoever is at work renews it a few times as often. */
const TURN_MS = 60_000;

/** A turn at a root. */
export interface Turn {
  /** False once somebody else may have taken it, because it could not be renewed in time. */
  isMine(): Promise<boolean>;
}

/**
 * Runs `work` while nobody else imports a thread to the root or clears it; otherwise one would take away what the other writes. Where
 * somebody does, it gives undefined and runs nothing. A turn that a crash left ends by itself. `frees`: it is for a deletion, which a
 * full store still takes.
 */
export async function inTurn<T>(
  log: ThreadLog,
  root: ThreadRoot,
  work: (turn: Turn) => Promise<T>,
  o: { readonly frees?: boolean } = {},
): Promise<T | undefined> {
  const { engine, env } = log.deps;
  const { records } = engine;
  const key = turnKey(root);
  const holder = toHex(env.randomBytes(8));
  const take = (expect: 'absent' | number) =>
    records.put(key, holder, { ...o, expect, expiresAt: env.now() + TURN_MS });
  let revision = await take('absent').catch(async (error) => {
    if (!o.frees || !isRelayError(error, 'store_full')) throw error;
    // Without room for a turn nobody begins an import; one that is under way has its turn.
    return (await records.get(key)) === null ? undefined : null;
  });
  if (revision === null) return undefined;
  if (revision === undefined) return work({ isMine: async () => true });
  let renewing: Promise<unknown> = Promise.resolve();
  const renew = async () => {
    revision = (await take(revision!)) ?? revision;
  };
  const timer = setInterval(() => {
    // A renewal that fails is tried again; `isMine` tells where it came too late.
    renewing = renewing.then(renew).catch(() => {});
  }, TURN_MS / 4);
  try {
    return await work({ isMine: async () => (await records.get(key))?.value === holder });
  } finally {
    clearInterval(timer);
    await renewing;
    // The work counts even where the store takes nothing more: the turn then expires.
    await records.delete(key, { expect: revision }).catch(() => {});
  }
}

/** Deletes everything that is kept under a root, but for the turn of whoever does so. */
export async function clearThread(log: ThreadLog, tenant: string, root: ThreadRoot): Promise<void> {
  const { blobs, logs, records } = log.deps.engine;
  const id = idOf(root);
  log.heads.forget(root);
  const prefix = threadPrefix(root);
  for (let more = true; more; ) {
    const { items, next } = await records.list(prefix, { limit: CLEARED_AT_ONCE });
    const others = items.filter(({ key }) => key !== turnKey(root));
    // A record is what its place in the index is found by.
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
    const { items } = await blobs.list(prefix, { limit: CLEARED_AT_ONCE });
    await Promise.all(items.map(({ key }) => blobs.delete(key)));
    if (items.length === 0) break;
  }
  await logs.drop(logOf(root));
  for (const follower of log.followers) follower.removed?.(root);
}
