import { badRequest } from '../../base/errors.ts';
import { duration } from '../../base/format.ts';
import { hmacSha256, sha256Hex } from '../../base/hash.ts';
import { uuidFrom } from '../../base/ids.ts';
import { DEFAULT_TTL_MS, MAX_PULLS, MAX_TTL_MS, MIN_TTL_MS, PAYLOAD_BYTES } from '../../base/limits.ts';
import type { Caller } from '../../contract/caller.ts';
import type { Peeked, PushOptions, Visibility } from '../../contract/pointers.ts';
import { checkMetadata, shortText, wrong } from '../bodies.ts';
import { checkChannelName } from '../names.ts';

/** Limits and defaults for a caller's pushes. */
export interface Terms {
  /** Visibility of a pointer if the sender names none. */
  readonly visibility: Visibility;
  /** Lifetime of a pointer in ms if the sender names none. */
  readonly ttlMs: number;
  readonly maxTtlMs: number;
  readonly payloadBytes: number;
}

/** Subtracts one push from the count again. */
export type GiveBack = () => Promise<void>;

/** Operations that the statistics count separately. */
export type Metered = 'push' | 'pull' | 'file_put' | 'file_get';

/** Decides whether a caller may push and which limits apply. Also counts transfers for the statistics. */
export interface Allowance {
  terms(caller: Caller): Terms | Promise<Terms>;
  /** Counts a push before it is committed. Rejects with `over_quota` if the quota is used up. */
  reserve(caller: Caller): Promise<GiveBack>;
  /**
   * Adds to the statistics that `caller` transferred this number of bytes. `owner` is the tenant that owns
   * the data.
   */
  note(caller: Caller, operation: Metered, bytes: number, owner: string): void;
}

/** Allowance of a relay without API keys. All callers have the same limits, and no push is refused. */
export const OPEN_ALLOWANCE: Omit<Allowance, 'note'> = {
  terms: () => ({
    visibility: 'link',
    ttlMs: DEFAULT_TTL_MS,
    maxTtlMs: MAX_TTL_MS,
    payloadBytes: PAYLOAD_BYTES,
  }),
  reserve: async () => async () => {},
};

/**
 * Subtracts a push from the count again. If this fails, the count stays one too high. The count is never
 * too low.
 */
export async function giveBack(counting: Promise<GiveBack | null>): Promise<void> {
  await counting.then((undo) => undo?.()).catch(() => {});
}

/** Options of a push after validation, with defaults. */
export interface CheckedOptions
  extends Pick<Peeked, 'channel' | 'metadata' | 'max_pulls' | 'visibility' | 'content_type'> {
  readonly ttlMs: number;
  readonly sealed_key: string | null;
  readonly key_check: string | null;
}

/**
 * Checks all options at run time, because the caller may be a program in any language. An option with the value `null`
 * counts as not given.
 */
export function checkOptions(o: PushOptions, terms: Terms): CheckedOptions {
  return {
    channel: checkChannel(o.channel),
    metadata: checkMetadata(o.metadata),
    ttlMs: checkTtl(o.ttl, terms),
    max_pulls: checkMaxPulls(o.max_pulls),
    visibility: checkVisibility(o.visibility, terms),
    content_type: shortText('content_type', o.content_type, 256),
    sealed_key: shortText('sealed_key', o.sealed_key, 1024),
    key_check: checkKeyCheck(o.key_check),
  };
}

/**
 * Starts to count a push against the quota. The caller awaits the result later. The result is null if the
 * quota is used up and the push is a retry, because its first attempt was already counted.
 */
export function countPush(
  allowance: Allowance,
  caller: Caller,
  isRetry: () => Promise<boolean>,
): Promise<GiveBack | null> {
  const counting = allowance.reserve(caller).catch(async (error) => {
    if (await isRetry()) return null;
    throw error;
  });
  // The caller awaits `counting` later. Handle a rejection before then, otherwise the runtime reports it as
  // unhandled.
  counting.catch(() => {});
  return counting;
}

/**
 * Derives a pointer id from the tenant and an idempotency key. The same key always gives the same id. Nobody
 * can predict the id without the secret of the store.
 */
export async function derivedId(
  secret: Uint8Array<ArrayBuffer>,
  caller: Caller,
  key: string,
): Promise<string> {
  return uuidFrom(await hmacSha256(secret, `push\n${caller.tenant}\n${key}`));
}

/**
 * Returns a fingerprint of everything that a retry must repeat. Two pushes with the same idempotency key and
 * different fingerprints are a conflict.
 */
export function requestFingerprint(sha256: string, o: CheckedOptions): Promise<string> {
  const { channel, metadata, ttlMs, max_pulls, visibility, content_type, sealed_key, key_check } = o;
  const request = [sha256, channel, metadata, ttlMs, max_pulls, visibility, content_type, sealed_key];
  // `key_check` is left out if it is null. The fingerprint is then the same as in an earlier version of the
  // relay, so that a retry after an upgrade is no conflict.
  return sha256Hex(JSON.stringify(key_check === null ? request : [...request, key_check]));
}

function checkChannel(channel: unknown): string | null {
  if (channel === undefined || channel === null || channel === '') return null;
  if (typeof channel !== 'string') throw wrong('channel', 'a string', channel);
  return checkChannelName(channel);
}

function checkTtl(ttl: unknown, terms: Terms): number {
  if (ttl === undefined || ttl === null) return terms.ttlMs;
  if (typeof ttl !== 'number' || !Number.isFinite(ttl)) throw wrong('ttl', 'a number of seconds', ttl);
  const ms = Math.round(ttl * 1000);
  if (ms < MIN_TTL_MS || ms > terms.maxTtlMs) {
    throw badRequest(
      `"ttl" is ${ttl} seconds; it must be from ${duration(MIN_TTL_MS / 1000)} to ${duration(terms.maxTtlMs / 1000)}.`,
    );
  }
  return ms;
}

function checkMaxPulls(max: unknown): number | null {
  if (max === undefined || max === null) return null;
  if (typeof max !== 'number' || !Number.isSafeInteger(max)) throw wrong('max_pulls', 'a whole number', max);
  if (max < 1 || max > MAX_PULLS)
    throw badRequest(`"max_pulls" is ${max}; it must be from 1 to ${MAX_PULLS}.`);
  return max;
}

function checkVisibility(visibility: unknown, terms: Terms): Visibility {
  if (visibility === undefined || visibility === null) return terms.visibility;
  if (visibility !== 'link' && visibility !== 'tenant')
    throw wrong('visibility', '"link" or "tenant"', visibility);
  return visibility;
}

function checkKeyCheck(check: unknown): string | null {
  if (check === undefined || check === null) return null;
  if (typeof check === 'string' && /^[0-9a-f]{16}$/.test(check)) return check;
  throw badRequest('"key_check" must be 16 hexadecimal digits in lower case.');
}
