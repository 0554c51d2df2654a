import { RelayError } from '../../base/errors.ts';
import { type Caller, checkTenant, runsTheRelay } from '../../contract/caller.ts';
import type { UsageQuery, UsageReport } from '../../contract/usage.ts';
import type { Deps } from '../deps.ts';
import { endOf, isMonth, monthOf } from './month.ts';
import type { Plans } from './plans.ts';
import type { Quota } from './quota.ts';
import type { Statistics } from './statistics.ts';

/** What a tenant used of its plan. */
export class Usage {
  readonly statistics: Statistics;
  readonly #deps: Deps;
  readonly #plans: Plans;
  readonly #quota: Quota;

  constructor(deps: Deps, plans: Plans, quota: Quota, statistics: Statistics) {
    this.statistics = statistics;
    this.#deps = deps;
    this.#plans = plans;
    this.#quota = quota;
  }

  async get(caller: Caller, o: UsageQuery = {}): Promise<UsageReport> {
    const tenant = tenantOf(caller, o.tenant);
    const month = o.month ?? monthOf(this.#deps.env.now());
    if (!isMonth(month)) {
      throw new RelayError('bad_request', { what: 'A month looks like 2026-11.' });
    }
    await this.statistics.flush();
    const plan = await this.#plans.of(tenant);
    const all = await this.statistics.rows(tenant, month);
    const sum = (operation: string) =>
      all.filter((row) => row.operation === operation).reduce((total, row) => total + row.count, 0);
    // Where the counter was not kept (open mode), the statistics are what there is.
    const pushes = Math.max(await this.#quota.used(tenant, month), plan.pushes === null ? sum('push') : 0);
    const admin = caller.scopes.includes('admin');
    return {
      tenant,
      plan: plan.name,
      month,
      reset: new Date(endOf(month)).toISOString(),
      pushes: { used: pushes, limit: plan.pushes },
      pulls: { used: sum('pull'), limit: plan.pulls },
      rows: admin ? all : all.filter((row) => row.key === caller.keyId),
    };
  }
}

function tenantOf(caller: Caller, wanted: string | undefined): string {
  if (wanted === undefined || wanted === caller.tenant) return caller.tenant;
  if (runsTheRelay(caller)) return checkTenant(wanted);
  throw new RelayError('forbidden', { what: `The key "${caller.name}" belongs to another tenant.` });
}
