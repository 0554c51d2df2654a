import { RelayError } from '../../base/errors.ts';
import { DEFAULT_TTL_MS, USAGE_KEPT_MS } from '../../base/limits.ts';
import type { Caller } from '../../contract/caller.ts';
import type { Deps } from '../deps.ts';
import type { Allowance, Reservation, Terms } from '../pointers/allowance.ts';
import { endOf, monthOf } from './month.ts';
import type { Plans } from './plans.ts';
import type { Statistics } from './statistics.ts';

const pushesKey = (tenant: string, month: string) => `ten.${tenant}/pushes/${month}`;

/**
 * The push limit of a tenant's plan. It is exact over restarts and over several servers: a push is counted in the store
 * before it is committed and given back when it fails. A crash in between counts one too many, never one too few.
 */
export class Quota implements Allowance {
  readonly #deps: Deps;
  readonly #plans: Plans;
  readonly #statistics: Statistics;

  constructor(deps: Deps, plans: Plans, statistics: Statistics) {
    this.#deps = deps;
    this.#plans = plans;
    this.#statistics = statistics;
  }

  async terms(caller: Caller): Promise<Terms> {
    const { ttlMs, payloadBytes } = await this.#plans.of(caller.tenant);
    return { visibility: 'tenant', ttlMs: Math.min(ttlMs, DEFAULT_TTL_MS), maxTtlMs: ttlMs, payloadBytes };
  }

  async reserve(caller: Caller): Promise<Reservation> {
    const { records } = this.#deps.engine;
    const { name, pushes } = await this.#plans.of(caller.tenant);
    const month = monthOf(this.#deps.env.now());
    const key = pushesKey(caller.tenant, month);
    const limits = { max: pushes ?? undefined, expiresAt: endOf(month) + USAGE_KEPT_MS };
    if ((await records.add(key, 1, limits)) === null) {
      const used = await this.used(caller.tenant, month);
      const reset = new Date(endOf(month)).toISOString();
      throw new RelayError('over_quota', { what: 'pushes', plan: name, limit: pushes, used, reset });
    }
    return { giveBack: async () => void (await records.add(key, -1)) };
  }

  /** A pull by the link alone, without a key, counts for the owner of the pointer. */
  note(caller: Caller, operation: 'push' | 'pull', bytes: number, owner: string): void {
    const { tenant, keyId } = caller.tenant === '' ? { tenant: owner, keyId: 'link' } : caller;
    this.#statistics.note(tenant, keyId, operation, bytes);
  }

  async used(tenant: string, month: string): Promise<number> {
    return Number((await this.#deps.engine.records.get(pushesKey(tenant, month)))?.value ?? 0);
  }
}
