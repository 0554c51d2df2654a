import { badRequest } from '../../base/errors.ts';
import { THREAD_HOLD_S } from '../../base/limits.ts';
import type { HoldAnswer, HoldInput } from '../../contract/threads/answers.ts';
import { compareAndSet } from '../../kernel/records.ts';
import { recordsOf } from '../records.ts';
import { holdKey } from './keys.ts';
import { isoTime } from './state.ts';
import type { ThreadVerb } from './thread-log.ts';

/** A lease as it is stored. */
interface Lease extends Pick<HoldInput, 'token' | 'holder'> {
  readonly since: number;
  readonly until: number;
}

/** How long a lapsed lease is remembered. Until then its holder may renew it, if nobody else has taken it. */
const FORGOTTEN_MS = 24 * 60 * 60 * 1000;
const WORD = /^[^\p{C}]{1,200}$/u;

/**
 * Takes or renews the lease of a thread; of many who ask at once one gets it. It is advisory, since writing needs no
 * lease, and meant for work that must not be done twice at once, such as a run of a pipeline.
 */
export const holdThread: ThreadVerb<'hold'> = async (log, caller, id, o) => {
  check(o);
  const { root } = await log.meta(caller, id);
  const leases = recordsOf<Lease>(log.deps.engine.records);
  return compareAndSet('the lease of a thread', async () => {
    const stored = await leases.get(holdKey(root));
    const kept = stored?.value ?? null;
    const now = log.deps.env.now();
    const mine = kept?.token === o.token;
    const free = kept === null || kept.until <= now || kept.holder === o.instead_of;
    if (!mine && (o.renew || !free)) return { granted: false, hold: kept && described(kept) };
    const until = now + o.ttl * 1000;
    const next: Lease = { token: o.token, holder: o.holder, since: mine ? kept.since : now, until };
    const revision = await leases.put(holdKey(root), next, {
      expect: stored?.revision ?? 'absent',
      expiresAt: until + FORGOTTEN_MS,
    });
    return revision === null ? null : { granted: true, hold: described(next) };
  });
};

/** Ends the lease. Does nothing for whoever does not have it. */
export const releaseThread: ThreadVerb<'release'> = async (log, caller, id, o) => {
  const { root } = await log.meta(caller, id);
  const leases = recordsOf<Lease>(log.deps.engine.records);
  const stored = await leases.get(holdKey(root));
  if (stored?.value.token !== o.token) return;
  await leases.delete(holdKey(root), { expect: stored.revision });
};

function described({ holder, since, until }: Lease): NonNullable<HoldAnswer['hold']> {
  return { holder, since: isoTime(since), until: isoTime(until) };
}

function check({ token, holder, ttl }: HoldInput): void {
  for (const [name, word] of Object.entries({ token, holder })) {
    if (WORD.test(word)) continue;
    throw badRequest(`"${name}" is a line of 1 to 200 characters.`);
  }
  if (Number.isFinite(ttl) && ttl >= 1 && ttl <= THREAD_HOLD_S) return;
  throw badRequest(`"ttl" is a number of seconds from 1 to ${THREAD_HOLD_S}.`);
}
