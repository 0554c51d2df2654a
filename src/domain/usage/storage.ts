import { RelayError } from '../../base/errors.ts';
import { compareAndSet } from '../../kernel/records.ts';
import type { Deps } from '../deps.ts';
import { type RecordsOf, recordsOf } from '../records.ts';
import { CountedAhead } from './counted-ahead.ts';
import type { Plans } from './plans.ts';

/** How old a count may grow before housekeeping counts again, and before a write that is refused has it counted again. */
export const RECOUNT_MS = 6 * 60 * 60 * 1000;
const RECOUNT_REFUSED_MS = 60 * 1000;

/** Bytes ever written, bytes ever freed, and when both were last held against what is there, in ms. */
const storageKey = (tenant: string, what: 'written' | 'freed' | 'counted') => `ten.${tenant}/storage/${what}`;

/** Whether the key is that of what a tenant has written or freed. */
export function isStorageSum(key: string): boolean {
  return key.endsWith('/storage/written') || key.endsWith('/storage/freed');
}

/** Bytes ever written and ever freed. */
export interface Sums {
  readonly written: number;
  readonly freed: number;
}

/**
 * What the threads, files and channels of a tenant take up: a running sum in the store, which is what was written less what was
 * freed. A write is counted before it is committed, something freed after it is gone, so a crash leaves the sum too high,
 * and a recount puts it right. Writers look at the sum before they write: those at work at the same moment may pass the
 * limit together, by what they write.
 */
export class Storage {
  readonly #deps: Pick<Deps, 'engine' | 'env'>;
  readonly #plans: Pick<Plans, 'of'> | null;
  readonly #ahead: CountedAhead;
  readonly #sums: RecordsOf<number>;
  /** Whose sum was counted at least once, as far as this process knows. */
  readonly #counted = new Set<string>();
  /** Tenants whose writes were held against a limit here. */
  readonly limited = new Set<string>();
  /** Called when a recount is due. Nobody waits for it. */
  onDue: (tenant: string) => void = () => {};

  /** Without plans there are no limits, and what is written is counted all the same. */
  constructor(
    deps: Pick<Deps, 'engine' | 'env'>,
    plans: Pick<Plans, 'of'> | null = null,
    ahead = new CountedAhead(deps),
  ) {
    this.#deps = deps;
    this.#plans = plans;
    this.#ahead = ahead;
    this.#sums = recordsOf(deps.engine.records);
  }

  /** Rejects with `over_storage` where the plan has no room for so many bytes more. */
  async admit(tenant: string, bytes: number): Promise<void> {
    const plan = await this.#plans?.of(tenant);
    const limit = plan?.storageBytes ?? null;
    if (limit === null) return;
    this.limited.add(tenant);
    if (!(await this.isCounted(tenant))) this.onDue(tenant);
    const used = await this.used(tenant);
    if (used + bytes <= limit) return;
    if (await this.isDue(tenant, RECOUNT_REFUSED_MS)) this.onDue(tenant);
    throw new RelayError('over_storage', { plan: plan!.name, limit, used, needed: bytes });
  }

  /**
   * Counts what `write` stores, in the same turn, so that an engine with group commit commits both at once. Bytes below
   * zero are freed. Where `took` says that nothing was written after all, nothing is counted. `frees`: it belongs to a deletion.
   */
  async counted<T>(
    tenant: string,
    bytes: number,
    write: () => Promise<T>,
    took: (result: T) => boolean,
    frees = false,
  ): Promise<T> {
    const [written, freed] = [Math.max(0, bytes), Math.max(0, -bytes)];
    const counting = written > 0 ? this.#count(tenant, written, frees) : null;
    try {
      const [, result] = await Promise.all([counting, write()]);
      await this.freed(tenant, took(result) ? freed : written);
      return result;
    } catch (error) {
      if (written > 0)
        await Promise.resolve(counting).then(
          () => this.freed(tenant, written),
          () => {},
        );
      throw error;
    }
  }

  #count(tenant: string, bytes: number, frees: boolean): Promise<unknown> | null {
    return this.#ahead.count(tenant, bytes, {
      add: (all) => this.#sums.add(storageKey(tenant, 'written'), all, { frees }),
      giveBack: (left) => this.freed(tenant, left),
    });
  }

  /** To be called once by whoever deleted something, when it is gone. On a full disk the sum stays too high. */
  async freed(tenant: string, bytes: number): Promise<void> {
    if (bytes > 0) await this.#sums.add(storageKey(tenant, 'freed'), bytes).catch(() => {});
  }

  async used(tenant: string): Promise<number> {
    const { written, freed } = await this.#both(tenant);
    return Math.max(0, written.value - freed.value - this.#ahead.left(tenant));
  }

  /** False for a store of before there was a sum. */
  async isCounted(tenant: string): Promise<boolean> {
    if (!this.#counted.has(tenant) && (await this.#sums.get(storageKey(tenant, 'counted'))))
      this.#counted.add(tenant);
    return this.#counted.has(tenant);
  }

  async isDue(tenant: string, everyMs = RECOUNT_MS): Promise<boolean> {
    return (await this.dueAt(tenant, everyMs)) <= this.#deps.env.now();
  }

  /** When a recount is due, in ms; at once where there was none. */
  async dueAt(tenant: string, everyMs = RECOUNT_MS): Promise<number> {
    const last = (await this.#sums.get(storageKey(tenant, 'counted')))?.value;
    return last === undefined ? 0 : last + everyMs;
  }

  /** What the tenant's plan has room for; null for no limit. */
  async limitOf(tenant: string): Promise<number | null> {
    return (await this.#plans?.of(tenant))?.storageBytes ?? null;
  }

  async sums(tenant: string): Promise<Sums> {
    const { written, freed } = await this.#both(tenant);
    return { written: written.value, freed: freed.value };
  }

  /** Holds the sum against what `measure` finds. */
  async recount(tenant: string, measure: () => Promise<number>): Promise<void> {
    const before = await this.sums(tenant);
    await this.putRight(tenant, before, await measure());
  }

  /**
   * The same with what was found part by part since the sums were as `before`, while others went on writing and deleting. What they
   * wrote meanwhile may have been seen or not and is taken as not seen: where the sum is put right, it comes out too high by that
   * at most, never too low. What anyone had counted ahead then must be given back or written by now.
   */
  async putRight(tenant: string, before: Sums, found: number): Promise<void> {
    await compareAndSet('the sum of what is stored', async () => {
      const { written, freed } = await this.#both(tenant);
      const used = written.value - freed.value;
      const most = found + written.value - before.written;
      const least = found - (freed.value - before.freed);
      if (used >= least && used <= most) return true;
      const [what, { value, expect }] =
        used > most ? (['freed', freed] as const) : (['written', written] as const);
      return this.#sums.put(storageKey(tenant, what), value + Math.abs(used - most), { expect });
    });
    await this.#sums.put(storageKey(tenant, 'counted'), this.#deps.env.now());
    this.#counted.add(tenant);
  }

  async #both(tenant: string) {
    const sum = async (what: 'written' | 'freed') => {
      const stored = await this.#sums.get(storageKey(tenant, what));
      return { value: stored?.value ?? 0, expect: stored?.revision ?? ('absent' as const) };
    };
    const [written, freed] = await Promise.all([sum('written'), sum('freed')]);
    return { written, freed };
  }
}
