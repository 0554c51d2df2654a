import { RelayError } from '../../base/errors.ts';
import { pause } from '../../base/pause.ts';
import { compareAndSet } from '../../kernel/records.ts';
import type { Deps } from '../deps.ts';
import { type RecordsOf, recordsOf } from '../records.ts';
import type { Plans } from './plans.ts';

/** Time in ms after which a sweep measures a tenant's storage again. */
export const RECOUNT_MS = 6 * 60 * 60 * 1000;
/** Time in ms after which a rejected write may start another measurement. */
const RECOUNT_REFUSED_MS = 60 * 1000;
/**
 * Time in ms that a recount waits before and after it measures. A write is added to the sum shortly before
 * its data exists, and a deletion is subtracted shortly after its data is gone. The pauses let both finish.
 */
const MOMENT_MS = 1_000;

/**
 * Record keys of three numbers: the bytes ever written, the bytes ever freed, and the time in ms of the last
 * recount.
 */
const storageKey = (tenant: string, what: 'written' | 'freed' | 'counted') => `ten.${tenant}/storage/${what}`;

/**
 * Storage of a tenant's threads, files and channels in bytes. It is a running sum: bytes written minus
 * bytes freed. A write is added before its commit, and freed bytes are subtracted after the deletion. So a
 * crash leaves the sum too high, and a recount corrects it. Writers check the sum before they write, so
 * concurrent writers may exceed the limit by what they write.
 */
export class Storage {
  readonly #deps: Pick<Deps, 'engine' | 'env'>;
  readonly #plans: Pick<Plans, 'of'> | null;
  readonly #sums: RecordsOf<number>;
  /** Tenants whose writes this process has checked against a limit. */
  readonly limited = new Set<string>();
  /** Called when a recount is due. No caller waits for the recount. */
  onDue: (tenant: string) => void = () => {};

  /** Without `plans` there are no limits, but the sum of stored bytes is still kept. */
  constructor(deps: Pick<Deps, 'engine' | 'env'>, plans: Pick<Plans, 'of'> | null = null) {
    this.#deps = deps;
    this.#plans = plans;
    this.#sums = recordsOf(deps.engine.records);
  }

  /** Rejects with `over_storage` if the plan has no room for this number of additional bytes. */
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
   * Runs `write` and adds its bytes to the sum. Both start in the same tick, so that an engine with group commit
   * commits them together. If the number of bytes is negative, it is subtracted. If `took` returns false for the
   * result, `write` has stored nothing, and the sum stays as it was. `frees` is true if the write is part of a
   * deletion, which a full store still accepts.
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

  /**
   * Subtracts the bytes of deleted data. Call it once after the deletion. If the store is full, the sum stays
   * too high.
   */
  async freed(tenant: string, bytes: number): Promise<void> {
    if (bytes > 0) await this.#sums.add(storageKey(tenant, 'freed'), bytes).catch(() => {});
  }

  async used(tenant: string): Promise<number> {
    const { written, freed } = await this.#both(tenant);
    return Math.max(0, written.value - freed.value);
  }

  /**
   * Returns whether the tenant's storage was measured at least once. Stores of early versions have no sum
   * yet.
   */
  async isCounted(tenant: string): Promise<boolean> {
    return (await this.#sums.get(storageKey(tenant, 'counted'))) !== null;
  }

  async isDue(tenant: string, everyMs = RECOUNT_MS): Promise<boolean> {
    const last = (await this.#sums.get(storageKey(tenant, 'counted')))?.value;
    return last === undefined || last + everyMs <= this.#deps.env.now();
  }

  /**
   * Corrects the sum to the result of `measure`. Other processes may write and delete during the measurement: their
   * bytes can make the sum too high, but never too low.
   */
  async recount(tenant: string, measure: () => Promise<number>): Promise<void> {
    // The first round has no pauses and only checks the sum. If the sum looks wrong, the second round
    // measures again with pauses and corrects it.
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
