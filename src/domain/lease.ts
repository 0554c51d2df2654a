import { isRelayError } from '../base/errors.ts';
import { toHex } from '../base/ids.ts';
import type { Deps } from './deps.ts';

/** Time in ms after which a lease expires if it is not renewed. The holder renews it every quarter of this time. */
const LEASE_MS = 60_000;

/** A lease that the running work holds. */
export interface HeldLease {
  /** Returns false if the lease was not renewed in time, so that another process may hold it now. */
  isHeld(): Promise<boolean>;
}

/**
 * Runs `work` under a lease, which is the record `key`. If another process or call holds the lease, returns undefined
 * and does not run `work`. After a crash the lease expires. `frees` marks work that deletes data, which runs even in a
 * full store.
 */
export async function withLease<T>(
  { engine: { records }, env }: Pick<Deps, 'engine' | 'env'>,
  key: string,
  work: (lease: HeldLease) => Promise<T>,
  o: { readonly frees?: boolean } = {},
): Promise<T | undefined> {
  const holder = toHex(env.randomBytes(8));
  const putLease = (expect: 'absent' | number) =>
    records.put(key, holder, { ...o, expect, expiresAt: env.now() + LEASE_MS });
  let revision = await putLease('absent').catch(async (error) => {
    if (!o.frees || !isRelayError(error, 'store_full')) throw error;
    // The store has no room for the record of a lease, so nobody can take the lease now. But work that started earlier
    // may still hold it, so check whether the record exists.
    return (await records.get(key)) === null ? undefined : null;
  });
  if (revision === null) return undefined;
  if (revision === undefined) return work({ isHeld: async () => true });
  let renewing: Promise<unknown> = Promise.resolve();
  const renew = async () => {
    revision = (await putLease(revision!)) ?? revision;
  };
  const timer = setInterval(() => {
    // If a renewal fails, the next interval tries again. `isHeld` detects a renewal that came too late.
    renewing = renewing.then(renew).catch(() => {});
  }, LEASE_MS / 4);
  // Work that never ends, because the store hangs, must not keep the process alive.
  (timer as { unref?: () => void }).unref?.();
  try {
    return await work({ isHeld: async () => (await records.get(key))?.value === holder });
  } finally {
    clearInterval(timer);
    await renewing;
    // Ignore errors: the work is done, and the lease expires by itself.
    await records.delete(key, { expect: revision }).catch(() => {});
  }
}
