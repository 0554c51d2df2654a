import { RelayError } from '../../base/errors.ts';
import { pause } from '../../base/pause.ts';
import { compareAndSet } from '../../kernel/records.ts';
import type { Deps } from '../deps.ts';
import { type RecordsOf, recordsOf } from '../records.ts';
import type { Plans } from './plans.ts';

/** Age at which a sweep measures again, and age at which a rejected write triggers a measurement. */
export const RECOUNT_MS = 6 * 60 * 60 * 1000;
const RECOUNT_REFUSED_MS = 60 * 1000;
/**
 * A write is counted a moment before it exists, and deleted data is gone a moment before it is subtracted. A recount
 * waits this long for both.
 */
const MOMENT_MS = 1_000;

/** Keys of bytes ever written, bytes ever freed, and the time in ms when both were last compared with the store. */
const storageKey = (tenant: string, what: 'written' | 'freed' | 'counted') => `ten.${tenant}/storage/${what}`;

/**
 * Storage of a tenant's threads, files and channels: a running sum of bytes written minus bytes freed. A write is
 * counted before its commit, and freed bytes after the deletion, so a crash leaves the sum too high and a recount
 * corrects it. Writers check the sum before they write, so concurrent writers may exceed the limit by what they write.
 */
export class Storage {
  readonly #deps: Pick<Deps, 'engine' | 'env'>;
  readonly #plans: Pick<Plans, 'of'> | null;
  readonly #sums: RecordsOf<number>;
  /** Tenants that were counted at least once, as far as this process knows. */
  readonly #counted = new Set<string>();
  /** Tenants whose writes were checked against a limit in this process. */
  readonly limited = new Set<string>();
  /** Called when a recount is due. Nobody waits for it. */
  onDue: (tenant: string) => void = () => {};

  /** Without plans there are no limits, but writes are still counted. */
  constructor(deps: Pick<Deps, 'engine' | 'env'>, plans: Pick<Plans, 'of'> | null = null) {
    this.#deps = deps;
    this.#plans = plans;
    this.#sums = recordsOf(deps.engine.records);
  }

  /** Rejects with `over_storage` if the plan has no room for this many bytes more. */
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
   * Counts what `write` stores, in the same tick, so that an engine with group commit commits both together. Negative
   * bytes are freed. If `took` says that nothing was written, nothing is counted. `frees`: it belongs to a deletion.
   */
  async counted<T>(
    tenant: string,
    bytes: number,
    write: () => Promise<T>,
    took: (result: T) => boolean,
    frees = false,
  ): Promise<T> {
    const [written, freed] = [Math.max(0, bytes), Math.max(0, -bytes)];
    const counting = written > 0 ? this.#sums.add(storageKey(tenant, 'written'), written, { frees }) : null;
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

  /** Called once after a deletion. On a full disk the sum stays too high. */
  async freed(tenant: string, bytes: number): Promise<void> {
    if (bytes > 0) await this.#sums.add(storageKey(tenant, 'freed'), bytes).catch(() => {});
  }

  async used(tenant: string): Promise<number> {
    const { written, freed } = await this.#both(tenant);
    return Math.max(0, written.value - freed.value);
  }

  /** Returns false for a store from before the sum existed. */
  async isCounted(tenant: string): Promise<boolean> {
    if (!this.#counted.has(tenant) && (await this.#sums.get(storageKey(tenant, 'counted'))))
      this.#counted.add(tenant);
    return this.#counted.has(tenant);
  }

  /** Makes a recount due now. */
  async forgetCount(tenant: string): Promise<void> {
    this.#counted.delete(tenant);
    await this.#sums.delete(storageKey(tenant, 'counted'));
  }

  async isDue(tenant: string, everyMs = RECOUNT_MS): Promise<boolean> {
    const last = (await this.#sums.get(storageKey(tenant, 'counted')))?.value;
    return last === undefined || last + everyMs <= this.#deps.env.now();
  }

  /**
   * Corrects the sum by what `measure` finds, while others write and delete. Their concurrent writes count as not
   * measured: the sum may come out too high by that much, never too low.
   */
  async recount(tenant: string, measure: () => Promise<number>): Promise<void> {
    // The first round has no pauses and only checks. A sum that looks wrong is measured again with pauses, then
    // corrected.
    for (const moment of [0, MOMENT_MS]) {
      const before = await this.#both(tenant);
      await pause(moment);
      const found = await measure();
      await pause(moment);
      const isRight = await compareAndSet('the total of stored bytes', async () => {
        const { written, freed } = await this.#both(tenant);
        const used = written.value - freed.value;
        const most = found + written.value - before.written.value;
        const least = found - (freed.value - before.freed.value);
        if (used >= least && used <= most) return true;
        if (moment === 0) return false;
        const [what, { value, expect }] =
          used > most ? (['freed', freed] as const) : (['written', written] as const);
        const put = await this.#sums.put(storageKey(tenant, what), value + Math.abs(used - most), { expect });
        return put === null ? null : true;
      });
      if (isRight) break;
    }
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
