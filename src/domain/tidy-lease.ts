import { isRelayError } from '../base/errors.ts';
import type { Deps } from './deps.ts';

const LEASE = 'sys/tidying';

/** A server that was killed while it tidied keeps the others from it for so long. */
const LEASE_MS = 120_000;

/** Does the work, unless another server of the same store is at it: what it does not get to, it gets to the next time. */
export async function underTidyLease({ engine, env }: Deps, work: () => Promise<void>): Promise<void> {
  const { records } = engine;
  const expiresAt = env.now() + LEASE_MS;
  const revision = await records.put(LEASE, null, { expect: 'absent', expiresAt }).catch((error) => {
    // Without room for a lease there is all the more to tidy.
    if (isRelayError(error, 'store_full')) return undefined;
    throw error;
  });
  if (revision === null) return;
  try {
    await work();
  } finally {
    if (revision !== undefined) await records.delete(LEASE, { expect: revision });
  }
}
