import { badRequest, RelayError } from '../../base/errors.ts';
import { DEFAULT_TTL_MS, USAGE_KEPT_MS } from '../../base/limits.ts';
import { type Caller, isRelayAdmin, tenantOf } from '../../contract/caller.ts';
import type { UsageQuery, UsageReport } from '../../contract/keys.ts';
import type { Deps } from '../deps.ts';
import type { Allowance, GiveBack, Metered, Terms } from '../pointers/push-options.ts';
import type { Plans } from './plans.ts';
import type { Statistics } from './statistics.ts';

const pushesKey = (tenant: string, month: string) => `ten.${tenant}/pushes/${month}`;

/**
 * Usage of a tenant's plan. The limit of pushes is exact, also across restarts and several servers: a push
 * is added to a counter in the store before its commit, and subtracted again if the push fails. After a
 * crash in between, the counter stays one too high. The counter is never too low.
 */
export class Usage implements Allowance {
  readonly statistics: Statistics;
  readonly #deps: Deps;
  readonly #plans: Plans;
  readonly #stored: (tenant: string) => Promise<number>;

  /** `stored` returns the bytes of a tenant's threads, files and channels. */
  constructor(
    deps: Deps & { readonly statistics: Statistics },
    plans: Plans,
    stored: (tenant: string) => Promise<number>,
  ) {
    this.statistics = deps.statistics;
    this.#deps = deps;
    this.#plans = plans;
    this.#stored = stored;
  }

  async terms(caller: Caller): Promise<Terms> {
    const { ttlMs, payloadBytes } = await this.#plans.of(caller.tenant);
    return { visibility: 'tenant', ttlMs: Math.min(ttlMs, DEFAULT_TTL_MS), maxTtlMs: ttlMs, payloadBytes };
  }

  async reserve({ tenant }: Caller): Promise<GiveBack> {
    const { records } = this.#deps.engine;
    const { name, pushes } = await this.#plans.of(tenant);
    // A plan without a limit needs no exact counter. The statistics are enough, although they are write-behind.
    if (pushes === null) return async () => {};
    const month = this.#month();
    const key = pushesKey(tenant, month);
    const limits = { max: pushes, expiresAt: endOf(month) + USAGE_KEPT_MS };
    if ((await records.add(key, 1, limits)) === null) {
      const used = await this.#pushes(tenant, month);
      const reset = new Date(endOf(month)).toISOString();
      throw new RelayError('over_quota', { what: 'pushes', plan: name, limit: pushes, used, reset });
    }
    return async () => void (await records.add(key, -1));
  }

  note(caller: Caller, operation: Metered, bytes: number, owner: string): void {
    this.statistics.note(caller, operation, bytes, owner);
  }

  async get(caller: Caller, o: UsageQuery = {}): Promise<UsageReport> {
    const tenant = tenantOf(caller, o.tenant);
    const month = o.month ?? this.#month();
    if (!/^\d{4}-(0[1-9]|1[0-2])$/.test(month)) throw badRequest('"month" must be a month such as 2026-11.');
    await this.statistics.flush();
    const plan = await this.#plans.of(tenant);
    const all = await this.statistics.rows(tenant, month);
    const sum = (operation: string) =>
      all.filter((row) => row.operation === operation).reduce((total, row) => total + row.count, 0);
    // For a plan without a limit there is no exact counter, so use the statistics.
    const pushes = Math.max(await this.#pushes(tenant, month), plan.pushes === null ? sum('push') : 0);
    const admin = caller.scopes.includes('admin') && caller.channelPrefix === undefined;
    return {
      tenant,
      plan: plan.name,
      month,
      reset: new Date(endOf(month)).toISOString(),
      pushes: { used: pushes, limit: plan.pushes },
      pulls: { used: sum('pull'), limit: plan.pulls },
      storage: { used: await this.#stored(tenant), limit: plan.storageBytes ?? null },
      rows: admin ? all : all.filter((row) => row.key === caller.keyId),
      ...(o.store && isRelayAdmin(caller) ? { store: await this.#storeSize() } : {}),
    };
  }

  /** Measures the whole store. `relay du` prints the same figures. */
  async #storeSize(): Promise<UsageReport['store']> {
    const { blobs, records, entries, diskBytes } = await this.#deps.engine.usage();
    return { payloads: blobs.count, payload_bytes: blobs.bytes, records, entries, disk_bytes: diskBytes };
  }

  async #pushes(tenant: string, month: string): Promise<number> {
    return Number((await this.#deps.engine.records.get(pushesKey(tenant, month)))?.value ?? 0);
  }

  /** Returns the current month in UTC, such as `2026-11`. */
  #month(): string {
    return new Date(this.#deps.env.now()).toISOString().slice(0, 7);
  }
}

/** Returns the end of a month in ms: the first moment of the next month. */
function endOf(month: string): number {
  const [year, number] = month.split('-').map(Number) as [number, number];
  return Date.UTC(year, number);
}
