import { badRequest } from '../../base/errors.ts';
import { KEYS_MAX, MAX_TTL_MS, PAYLOAD_BYTES } from '../../base/limits.ts';
import { RELAY_TENANT } from '../../contract/caller.ts';
import type { Deps } from '../deps.ts';
import { type RecordsOf, recordsOf } from '../records.ts';

/** Limits of a tenant. A plan contains nothing about payment. */
export interface Plan {
  readonly name: string;
  /** Maximum number of pushes per calendar month in UTC; null for no limit. */
  readonly pushes: number | null;
  /**
   * Number of pulls per calendar month. It is shown and exported, but not enforced: a pull above it is still answered.
   */
  readonly pulls: number | null;
  readonly keys: number;
  readonly payloadBytes: number;
  /** Maximum lifetime of a pointer. */
  readonly ttlMs: number;
  /** Maximum bytes of threads, files and channel messages; null or absent for no limit. */
  readonly storageBytes?: number | null;
}

export type PlanTable = { readonly [name: string]: Omit<Plan, 'name'> };

const GiB = 1024 ** 3;
const DAY_MS = 24 * 60 * 60 * 1000;
const hosted = { payloadBytes: PAYLOAD_BYTES, ttlMs: DAY_MS };

export const BUILT_IN_PLANS: PlanTable = {
  free: { pushes: 1_000, pulls: 10_000, keys: 2, storageBytes: GiB / 4, ...hosted },
  pro: { pushes: 100_000, pulls: 1_000_000, keys: 10, storageBytes: 10 * GiB, ...hosted },
  team: { pushes: 1_000_000, pulls: 10_000_000, keys: 100, storageBytes: 100 * GiB, ...hosted },
  /** Default plan of the relay's own tenant. */
  unlimited: { pushes: null, pulls: null, keys: KEYS_MAX, payloadBytes: PAYLOAD_BYTES, ttlMs: MAX_TTL_MS },
};

export interface PlanOptions {
  /** Additional plans. A plan with the name of a built-in plan replaces it. */
  readonly plans?: PlanTable;
  /** Plan of tenants that have none of their own, except the relay's own tenant. Default: `free`. */
  readonly defaultPlan?: string;
}

const settingsKey = (tenant: string) => `ten.${tenant}/settings`;

/** Stores which tenant has which plan. */
export class Plans {
  readonly #settings: RecordsOf<{ readonly plan?: string }>;
  readonly #table: PlanTable;
  readonly #default: string;

  constructor(deps: Deps, o: PlanOptions = {}) {
    this.#settings = recordsOf(deps.engine.records);
    this.#table = { ...BUILT_IN_PLANS, ...o.plans };
    this.#default = o.defaultPlan ?? 'free';
    this.#findPlan(this.#default);
  }

  async of(tenant: string): Promise<Plan> {
    const chosen = (await this.#settings.get(settingsKey(tenant)))?.value.plan;
    // A tenant whose plan was removed from the configuration gets the default plan.
    if (chosen !== undefined && Object.hasOwn(this.#table, chosen)) return this.#findPlan(chosen);
    return this.#findPlan(tenant === RELAY_TENANT ? 'unlimited' : this.#default);
  }

  async set(tenant: string, plan: string): Promise<void> {
    this.#findPlan(plan);
    await this.#settings.put(settingsKey(tenant), { plan });
  }

  #findPlan(name: string): Plan {
    const plan = Object.hasOwn(this.#table, name) ? this.#table[name] : undefined;
    if (plan) return { name, ...plan };
    throw badRequest(`There is no plan "${name}".`, `The plans are: ${Object.keys(this.#table).join(', ')}.`);
  }
}
