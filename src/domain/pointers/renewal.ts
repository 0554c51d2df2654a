import { badRequest, isRelayError } from '../../base/errors.ts';
import { isUuid, toHex } from '../../base/ids.ts';
import { MAX_TTL_MS, MIN_TTL_MS } from '../../base/limits.ts';
import { reaches } from '../../contract/authorize.ts';
import type { Caller } from '../../contract/caller.ts';
import { handleOf } from '../../contract/pointer-url.ts';
import type { Renewed } from '../../contract/pointers.ts';
import type { BlobBody, ByteRange } from '../../kernel/blobs.ts';
import { compareAndSet } from '../../kernel/records.ts';
import type { Deps } from '../deps.ts';
import type { Receipts } from '../receipts/receipts.ts';
import { type RecordsOf, recordsOf } from '../records.ts';
import type { TaskResults } from '../tasks/results.ts';
import type { Allowance } from './push-options.ts';
import {
  blobKey,
  notFound,
  type PointerList,
  type PointerLookup,
  type PointerRecord,
  recordKey,
} from './record.ts';

interface RenewalParts {
  readonly deps: Deps;
  readonly list: PointerList;
  readonly lookup: PointerLookup;
  readonly allowance: Allowance;
  readonly results: Pick<TaskResults, 'keep'>;
  readonly receipts: Pick<Receipts, 'keep'>;
}

interface Lifetimes {
  /** Remaining lifetime in ms below which a pointer is renewed. */
  readonly leastMs: number;
  /** Lifetime of a renewed pointer, in ms from now. */
  readonly renewedMs: number;
}

/**
 * Renews pointers of the caller's tenant, so that they exist for at least `ttl` seconds from now, or for as
 * long as the plan allows. A renewed pointer gets a quarter more lifetime than requested. A conversation that
 * requests a renewal at each turn then seldom causes one. A pointer with `max_pulls` is not renewed, because its
 * pulls are counted until it expires.
 */
export async function renewPointers(
  parts: RenewalParts,
  caller: Caller,
  ids: readonly string[],
  ttl?: number,
): Promise<Renewed> {
  const { maxTtlMs } = await parts.allowance.terms(caller);
  const ttlMs = checkTtl(ttl);
  const lifetimes = {
    leastMs: Math.min(ttlMs, (maxTtlMs * 7) / 8),
    renewedMs: Math.min((ttlMs * 5) / 4, maxTtlMs),
  };
  const records = recordsOf<PointerRecord>(parts.deps.engine.records);
  const pointers = new Map<string, Renewed['pointers'][number]>();
  for (const name of ids) {
    const id = await parts.lookup.idOf(caller, name).catch(ifMissing);
    // Skip a name that is no pointer. A caller may collect the names from a text, and some of them may only
    // look like ids.
    if (!isUuid(id) || pointers.has(id)) continue;
    const record = await compareAndSet('a pointer', () => renewOnce(parts, records, caller, id, lifetimes));
    if (record === 'missing') continue;
    pointers.set(id, { id, ...handleOf(record), expires_at: new Date(record.expires).toISOString() });
  }
  return { pointers: [...pointers.values()] };
}

/**
 * Renews one pointer if it expires too early. Returns null if the record was changed first by another
 * request. The caller then tries again.
 */
async function renewOnce(
  { deps: { engine, env }, list, allowance, results, receipts }: RenewalParts,
  records: RecordsOf<PointerRecord>,
  caller: Caller,
  id: string,
  { leastMs, renewedMs }: Lifetimes,
): Promise<PointerRecord | 'missing' | null> {
  const stored = await records.get(recordKey(id));
  if (stored?.value.tenant !== caller.tenant || !reaches(caller, stored.value)) return 'missing';
  const { value: record, revision: expect } = stored;
  if (record.max_pulls !== null || record.expires >= env.now() + leastMs) return record;
  const giveBack = await allowance.reserve(caller);
  const blob = blobKey(id, toHex(env.randomBytes(8)));
  try {
    const found = await engine.blobs.get(record.blob);
    if (!found) {
      await giveBack();
      return 'missing';
    }
    const expires = env.now() + renewedMs;
    const { kept: keptUntil = 0, ...rest } = record;
    const expiresAt = Math.max(keptUntil, expires);
    const renewed = { ...rest, blob, expires, ...(keptUntil > expires ? { kept: keptUntil } : {}) };
    const staged = await engine.blobs.stage(blob, found.body, { size: record.size, expiresAt });
    const putting = records.put(recordKey(id), renewed, { expect, expiresAt, with: [staged] });
    const [revision] = await Promise.all([putting, list.add(id, renewed)]);
    if (revision === null) return await undo();
    // Keep the result as long as the task. Only a pointer on a channel can be a task.
    if (record.channel !== null) await results.keep(id, expiresAt);
    await receipts.keep(id, expiresAt);
    await engine.blobs.delete(record.blob);
    return renewed;
  } catch (error) {
    await undo();
    throw error;
  }
  async function undo(): Promise<null> {
    // Ignore errors: if the push stays in the count, the count is one too high, and if the blob stays, the
    // sweep deletes it.
    const [now] = await Promise.all([records.get(recordKey(id)), giveBack().catch(() => {})]);
    if (now?.value.blob !== blob) await engine.blobs.delete(blob).catch(() => {});
    return null;
  }
}

/** The fields of a pointer that are needed to read its payload. */
export interface Payload<F extends keyof PointerRecord = 'blob'> {
  readonly id: string;
  readonly record: Pick<PointerRecord, F>;
}

/**
 * Opens a payload. If the pointer was renewed after its record was read, the payload is in another blob. In this
 * case, reads the record again to find this blob.
 */
export async function openPayload(
  { engine }: Deps,
  { id, record: { blob } }: Payload,
  range?: ByteRange,
): Promise<BlobBody> {
  const found = await engine.blobs.get(blob, range);
  if (found) return found.body;
  const now = await recordsOf<PointerRecord>(engine.records).get(recordKey(id));
  const renewed = now && now.value.blob !== blob ? await engine.blobs.get(now.value.blob, range) : null;
  if (!renewed) throw notFound();
  return renewed.body;
}

/**
 * Returns an empty text if a handle is mistyped or does not exist. The empty text is no id, so the caller skips it.
 * Throws any other error.
 */
function ifMissing(error: unknown): string {
  if (isRelayError(error, 'not_found') || isRelayError(error, 'bad_url')) return '';
  throw error;
}

function checkTtl(ttl = MAX_TTL_MS / 1000): number {
  if (ttl * 1000 >= MIN_TTL_MS && ttl * 1000 <= MAX_TTL_MS) return Math.round(ttl * 1000);
  throw badRequest(`"ttl" is ${ttl} seconds; it must be from ${MIN_TTL_MS / 1000} to ${MAX_TTL_MS / 1000}.`);
}
