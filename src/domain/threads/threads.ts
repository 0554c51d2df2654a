import { badRequest, RelayError } from '../../base/errors.ts';
import { sha256, sha256Hex } from '../../base/hash.ts';
import { checkIdempotencyKey, isUuid, uuid, uuidFrom } from '../../base/ids.ts';
import { type Json, type JsonObject, jsonEqual } from '../../base/json.ts';
import {
  PAGE_ITEMS,
  PATCH_OPS,
  THREAD_HOLD_S,
  THREAD_NAME_CHARS,
  THREAD_TTL_MAX_S,
} from '../../base/limits.ts';
import { reaches } from '../../contract/authorize.ts';
import type { Caller } from '../../contract/caller.ts';
import type { HoldAnswer, HoldInput, PatchAnswer, State } from '../../contract/threads.ts';
import type { PatchOp } from '../../formats/json-patch/apply.ts';
import { diffJson } from '../../formats/json-patch/diff.ts';
import { compareAndSet, type RecordItem } from '../../kernel/records.ts';
import { allRecords, asJson, lookUpAll, recordsOf } from '../records.ts';
import { wordFilter } from '../word-filter.ts';
import { eventStorageBytes } from './event.ts';
import { emptyHead, type Head, type IdempotentRequest, idempotentRequest } from './fold.ts';
import { holdKey, idOf, listKey, listPrefix, logOf, metaKey, rootsFor, type ThreadRoot } from './keys.ts';
import { isoTime, parseVersion, versionRef, withoutRelayFields } from './state.ts';
import { markChanged } from './tenant-totals.ts';
import type { ThreadLog, ThreadMeta, ThreadVerb } from './thread-log.ts';
import { finishDeletion, threadEnds } from './thread-removal.ts';

/** Creates a thread. The first log entry is the commit point: a thread without a log is not listed. */
export const createThread: ThreadVerb<'create'> = async (log, caller, o = {}) => {
  const { env } = log.deps;
  const name = o.name ?? '';
  if ([...name].length > THREAD_NAME_CHARS) {
    throw badRequest(`A name has at most ${THREAD_NAME_CHARS} characters.`);
  }
  const key = checkIdempotencyKey(o.idempotency_key);
  // A repeated request with the same idempotency key gets the same id, so it finds the thread.
  const id =
    key === undefined
      ? uuid(env)
      : uuidFrom(await sha256(`thread\n${caller.tenant}\n${caller.keyId}\n${key}`));
  const created = env.now();
  const expires = checkThreadTtl(o.ttl, created);
  const ends = expires === undefined ? {} : { expires };
  const { tenant, name: by, keyId } = caller;
  let meta: ThreadMeta = { tenant, name, created, by, key: keyId, ...ends };
  const [root] = rootsFor(tenant, id);
  if (key !== undefined) {
    const existing = await log.find(tenant, id);
    const begun = (await log.deps.engine.logs.info(logOf(existing?.root ?? root))).count > 0;
    if (existing && begun) return createdThread(id, existing);
    if (begun)
      throw new RelayError('conflict', {
        what: 'This idempotency key was already used for a thread that has been deleted.',
        hint: 'Use a new idempotency key.',
      });
    // If several requests create the thread concurrently, all of them use the meta record that was stored first.
    const isFirst = await log.metas.put(metaKey(root), meta, { expect: 'absent', expiresAt: expires });
    if (isFirst === null) meta = (await log.metas.get(metaKey(root)))?.value ?? meta;
  }
  const event = { type: 'thread.created', at: meta.created, payload: { version: 1, name: meta.name, by } };
  await log.storage.admit(tenant, eventStorageBytes(event));
  await writeThreadRecords(log, root, meta);
  await log.append(tenant, emptyHead(root), event);
  return createdThread(id, meta);
};

function createdThread(id: string, meta: Pick<ThreadMeta, 'name' | 'created' | 'expires'>) {
  const { name, created } = meta;
  return { thread_id: id, name, state_ref: versionRef(1), created_at: isoTime(created), ...expiry(meta) };
}

/** Returns the expiry time in ms, or undefined for a thread that never expires. */
function checkThreadTtl(seconds: unknown, now: number): number | undefined {
  if (seconds === undefined || seconds === null) return undefined;
  if (typeof seconds === 'number' && seconds >= 1 && seconds <= THREAD_TTL_MAX_S) {
    return now + Math.round(seconds * 1000);
  }
  throw badRequest(
    `"ttl" must be a number of seconds from 1 to ${THREAD_TTL_MAX_S}. Leave it out to keep the thread until it is deleted.`,
  );
}

/**
 * Writes the records of a thread before its log begins: the meta record, the list entry and the expiry
 * entry.
 */
export async function writeThreadRecords(log: ThreadLog, root: ThreadRoot, meta: ThreadMeta): Promise<void> {
  const id = idOf(root);
  const { name, created, tenant, expires } = meta;
  if (expires !== undefined) await threadEnds(log.deps).note(expires, id, { tenant, id, created });
  await Promise.all([
    log.metas.put(metaKey(root), meta, { expiresAt: expires }),
    markChanged(log.deps, tenant, id),
  ]);
  const listed: JsonObject = { name, created };
  if (expires !== undefined) listed.expires = expires;
  await log.deps.engine.records.put(listKey(tenant, id, created), listed);
}

/**
 * Lists threads, newest first. `prefix` selects threads by the beginning of their id, `q` by words in their name, and
 * `by` by the name of their creator. A thread whose name starts with a dot, such as the thread of a lease, is listed
 * only if `prefix` is set or `q` starts with a dot.
 */
export const listThreads: ThreadVerb<'list'> = async (log, caller, o = {}) => {
  const { logs, records } = log.deps.engine;
  const prefix = listPrefix(caller.tenant);
  const after = o.after === undefined ? undefined : prefix + o.after;
  const filter = wordFilter(o.q);
  const hidesDots = o.prefix === undefined && !o.q?.startsWith('.');
  const toListItem = async ({ key, value }: RecordItem) => {
    const listed = String((value as JsonObject).name ?? '');
    if (!filter.matches(listed) || (listed.startsWith('.') && hidesDots)) return null;
    const id = key.slice(key.lastIndexOf('.') + 1);
    if (!isUuid(id) || !id.startsWith(o.prefix?.toLowerCase() ?? '')) return null;
    const meta = await log.find(caller.tenant, id);
    if (!meta) {
      // The listed thread does not exist any more. If it had an expiry, the sweep deletes its data. Otherwise its
      // deletion was interrupted, so finish it here.
      if ((value as JsonObject).expires === undefined)
        log.background.run(() => finishDeletion(log, caller.tenant, key));
      return null;
    }
    const { root, name, created, by } = meta;
    if (!reaches(caller, { by: meta.key }) || (o.by !== undefined && o.by !== by)) return null;
    const [{ count }, hop_count] = await Promise.all([
      logs.info(logOf(root)),
      log.ledger.counter(root, 'hops'),
    ]);
    if (count === 0) return null;
    const thread = { thread_id: id, name, created_at: isoTime(created), ...expiry(meta), by, hop_count };
    return { thread, next: key.slice(prefix.length) };
  };
  const threads = [];
  const limit = o.limit ?? PAGE_ITEMS;
  const listed = allRecords(records, prefix, { after, limit: PAGE_ITEMS });
  for await (const found of lookUpAll(listed, toListItem, limit)) {
    if (found) threads.push(found.thread);
    if (found && threads.length === limit) return { threads, next: found.next };
  }
  return { threads };
};

/** Returns the name of a thread, its times, its version, and its numbers of hops, artifacts and events. */
export const getThread: ThreadVerb<'get'> = async (log, caller, id) => {
  const meta = await log.meta(caller, id);
  const head = await log.head(caller, id);
  return {
    thread_id: head.id,
    name: meta.name,
    created_at: isoTime(meta.created),
    ...expiry(meta),
    by: meta.by,
    hop_count: await log.ledger.counter(head.root, 'hops'),
    state_version: head.version,
    artifact_count: head.totals.artifacts,
    event_count: head.count,
  };
};

/**
 * Returns the current state, or with `at` an earlier version. It is counted as a read unless `counted` is
 * false.
 */
export const readState: ThreadVerb<'state'> = async (log, caller, id, o = {}) => {
  const head = await log.head(caller, id);
  const state = o.at === undefined ? head.state : await stateAt(log, caller, head, parseVersion(o.at));
  if (o.counted ?? true) log.ledger.countRead(head.root, 'states', state);
  return state;
};

/**
 * Applies a JSON Patch, all of it or nothing. With `if_match`, rejects the patch if the version has changed.
 * Without it, concurrent patches are applied one after the other.
 */
export const patchThread: ThreadVerb<'patch'> = async (log, caller, id, input) => {
  // Copy the operations: they become part of the state, and the caller may change its own objects later.
  const ops = JSON.parse(JSON.stringify(input.ops ?? null)) as Json;
  const expected = input.if_match === undefined ? null : parseVersion(input.if_match);
  const retry = await idempotentRequest('patch', input.idempotency_key, () => sha256Hex(JSON.stringify(ops)));
  return log.commit<PatchAnswer>(caller, id, (head) => {
    const before = retry?.previousUse(head);
    if (before) return { done: patchAnswer(before.version, before.at) };
    checkVersion(head, expected);
    return planPatch(log, head, { by: caller.name, ops }, retry);
  });
};

/**
 * Adds a version that equals an older version, except for the fields that the relay sets itself. All versions
 * stay readable. Adds no version if the current state already equals the older version.
 */
export const revertThread: ThreadVerb<'revert'> = async (log, caller, id, input) => {
  const to = parseVersion(input.to);
  const expected = input.if_match === undefined ? null : parseVersion(input.if_match);
  const retry = await idempotentRequest('revert', input.idempotency_key, () => sha256Hex(versionRef(to)));
  return log.commit<PatchAnswer>(caller, id, async (head) => {
    const before = retry?.previousUse(head);
    if (before) return { done: patchAnswer(before.version, before.at) };
    checkVersion(head, expected);
    const ops = revertOps(
      withoutRelayFields(head.state),
      withoutRelayFields(await stateAt(log, caller, head, to)),
    );
    if (ops.length === 0) return { done: patchAnswer(head.version, Date.parse(head.state.updated_at)) };
    return planPatch(log, head, { by: caller.name, ops: asJson(ops), reverted_to: versionRef(to) }, retry);
  });
};

function planPatch(log: ThreadLog, head: Head, patch: JsonObject, retry: IdempotentRequest | null) {
  const at = log.deps.env.now();
  const version = head.version + 1;
  const event = { type: 'state.patch.applied', at, payload: { version, ...patch }, ...retry?.mark };
  return { event, answer: () => patchAnswer(version, at) };
}

/** Returns the patch from one version to another, without the fields that the relay sets itself. */
export const diffVersions: ThreadVerb<'diff'> = async (log, caller, id, o) => {
  const head = await log.head(caller, id);
  const from = parseVersion(o.from);
  const to = o.to === undefined ? head.version : parseVersion(o.to);
  checkVersions(head, [from, to]);
  const ops = from === to ? [] : await log.fold(caller, head.root, 'diff', [from, to]);
  return { from: versionRef(from), to: versionRef(to), ops };
};

/** Returns for each item of the state which event last changed it. */
export const blameState: ThreadVerb<'blame'> = async (log, caller, id, o = {}) => {
  const newest = await log.head(caller, id);
  const version = o.at === undefined ? newest.version : parseVersion(o.at);
  checkVersions(newest, [version]);
  const lines = await log.fold(caller, newest.root, 'blame', [version], { withOps: true });
  return { thread_id: newest.id, version, lines };
};

/**
 * Computes the state again from the whole log, without snapshots or cache, and compares it with the current
 * state.
 */
export const replayThread: ThreadVerb<'replay'> = async (log, caller, id) => {
  const head = await log.head(caller, id);
  const sha256 = await log.fold(caller, head.root, 'digest', [head.version], { withOps: true });
  const matches = sha256 === (await sha256Hex(JSON.stringify(head.state)));
  return { version: head.version, events: head.count, sha256, matches };
};

async function stateAt(log: ThreadLog, caller: Caller, head: Head, version: number): Promise<State> {
  checkVersions(head, [version]);
  if (version === head.version) return head.state;
  return (await log.fold(caller, head.root, 'states', [version]))[0]!;
}

/** Throws `not_found` if one of the versions does not exist. */
function checkVersions(head: Head, versions: readonly number[]): void {
  const unknown = versions.find((version) => version < 1 || version > head.version);
  if (unknown !== undefined) {
    throw new RelayError('not_found', {
      what: `version ${unknown} of thread ${head.id}`,
      hint: `The state is at ${versionRef(head.version)}. You can read any version from v1 on.`,
    });
  }
}

/**
 * Returns the operations that turn `from` into `to`. If there are too many for one patch, replaces whole
 * fields.
 */
export function revertOps(from: Json, to: Json): PatchOp[] {
  const ops = diffJson(from, to);
  if (ops.length <= PATCH_OPS) return ops;
  const [before, after] = [from as JsonObject, to as JsonObject];
  return Object.keys({ ...before, ...after }).flatMap((field): PatchOp[] => {
    const path = `/${field}`;
    if (jsonEqual(before[field] ?? null, after[field] ?? null)) return [];
    if (after[field] === undefined) return [{ op: 'remove', path }];
    return [{ op: 'add', path, value: after[field] }];
  });
}

function checkVersion({ version }: Head, expected: number | null): void {
  if (expected === null || expected === version) return;
  throw new RelayError('version_conflict', { current: versionRef(version), expected: versionRef(expected) });
}

function expiry({ expires }: { readonly expires?: number }): { expires_at?: string } {
  return expires === undefined ? {} : { expires_at: isoTime(expires) };
}

function patchAnswer(version: number, at: number): PatchAnswer {
  return { version, updated_at: isoTime(at), state_ref: versionRef(version) };
}

/** A lease as stored in its record. Times are in ms since the epoch. */
interface Lease extends Pick<HoldInput, 'token' | 'holder'> {
  readonly since: number;
  readonly until: number;
}

/**
 * Time in ms for which an expired lease stays stored. Its holder can still renew it if no other caller took
 * the lease.
 */
const EXPIRED_LEASE_KEPT_MS = 24 * 60 * 60 * 1000;
const ONE_LINE = /^[^\p{C}]{1,200}$/u;

/**
 * Takes or renews the lease of a thread. If several callers ask at the same time, only one of them gets the lease. The
 * lease is advisory, because writes do not check it. Pipelines use it so that two processes never execute the same run.
 */
export const holdThread: ThreadVerb<'hold'> = async (log, caller, id, o) => {
  checkLease(o);
  const { root } = await log.meta(caller, id);
  const leases = recordsOf<Lease>(log.deps.engine.records);
  return compareAndSet('the lease of a thread', async () => {
    const stored = await leases.get(holdKey(root));
    const lease = stored?.value ?? null;
    const now = log.deps.env.now();
    const isHolder = lease?.token === o.token;
    const isFree = lease === null || lease.until <= now || lease.holder === o.instead_of;
    if (!isHolder && (o.renew || !isFree)) return { granted: false, hold: lease && toHold(lease) };
    const until = now + o.ttl * 1000;
    const next: Lease = { token: o.token, holder: o.holder, since: isHolder ? lease.since : now, until };
    const revision = await leases.put(holdKey(root), next, {
      expect: stored?.revision ?? 'absent',
      expiresAt: until + EXPIRED_LEASE_KEPT_MS,
    });
    return revision === null ? null : { granted: true, hold: toHold(next) };
  });
};

/** Ends the lease. Does nothing if the caller does not hold it. */
export const releaseThread: ThreadVerb<'release'> = async (log, caller, id, o) => {
  const { root } = await log.meta(caller, id);
  const leases = recordsOf<Lease>(log.deps.engine.records);
  const stored = await leases.get(holdKey(root));
  if (stored?.value.token !== o.token) return;
  await leases.delete(holdKey(root), { expect: stored.revision });
};

function toHold({ holder, since, until }: Lease): NonNullable<HoldAnswer['hold']> {
  return { holder, since: isoTime(since), until: isoTime(until) };
}

function checkLease({ token, holder, ttl }: HoldInput): void {
  for (const [name, word] of Object.entries({ token, holder })) {
    if (ONE_LINE.test(word)) continue;
    throw badRequest(`"${name}" must be one line of 1 to 200 characters.`);
  }
  if (Number.isFinite(ttl) && ttl >= 1 && ttl <= THREAD_HOLD_S) return;
  throw badRequest(`"ttl" must be a number of seconds from 1 to ${THREAD_HOLD_S}.`);
}
