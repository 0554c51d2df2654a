import type { Deps } from '../deps.ts';

/** A write so soon after another one counts for more to come, and what those did not need is given back after this. */
const MOMENT_MS = 1_000;
interface Tenant {
  /** Counted, and not written yet. */
  left: number;
  /** When it last wrote. */
  at: number;
  isDue: boolean;
}

/**
 * Counts ahead, for where the sum of a tenant lives elsewhere than what is written: of many writes within a moment one counts for
 * the others. Until what is left is given back the sum is too high by that, and after a crash until a recount; never too low.
 */
export class CountedAhead {
  readonly #deps: Pick<Deps, 'engine'>;
  readonly #bytes: number;
  readonly #tenants = new Map<string, Tenant>();

  /** `bytes`: how many are counted ahead; none by default. */
  constructor(deps: Pick<Deps, 'engine'>, bytes = 0) {
    this.#deps = deps;
    this.#bytes = bytes;
  }

  left(tenant: string): number {
    return this.#tenants.get(tenant)?.left ?? 0;
  }

  /** Resolves when so many bytes are counted; null where they are already. */
  count(
    tenant: string,
    bytes: number,
    sum: { add(bytes: number): Promise<unknown>; giveBack(bytes: number): Promise<unknown> },
  ): Promise<unknown> | null {
    if (this.#bytes === 0) return sum.add(bytes);
    const now = this.#deps.engine.now();
    const known = this.#tenants.get(tenant) ?? { left: 0, at: Number.NEGATIVE_INFINITY, isDue: false };
    this.#tenants.set(tenant, known);
    const isBusy = now - known.at < MOMENT_MS;
    known.at = now;
    if (bytes <= known.left) {
      known.left -= bytes;
      return null;
    }
    if (!isBusy) return sum.add(bytes);
    return sum.add(bytes + this.#bytes).then(() => {
      known.left += this.#bytes;
      if (known.isDue) return;
      known.isDue = true;
      this.#deps.engine.defer(async () => {
        const { left } = known;
        Object.assign(known, { left: 0, isDue: false });
        await sum.giveBack(left);
      }, MOMENT_MS);
    });
  }
}
