import type { Deps } from './deps.ts';
import { type RecordsOf, recordsOf } from './records.ts';
import { listParts, type StoragePart } from './storage-parts.ts';
import type { Storage, Sums } from './usage/storage.ts';

/**
 * A write is counted a moment before it is there, up to a second where it is counted ahead, and what is deleted is gone a moment before it
 * is freed. So long a recount waits before it measures, and before it draws its conclusion, with some to spare.
 */
const MOMENT_MS = 5_000;

/** How far a recount is: the sums when it began, and what was found up to the part with the key `after`; null when it is done. */
interface Progress extends Sums {
  readonly found: number;
  readonly after: string | null;
}

const progressKey = (tenant: string) => `ten.${tenant}/storage/recount`;

export interface Round {
  /** Parts that are measured at once. */
  readonly most: number;
  /** What a part takes up; wherever it is. */
  measure(part: StoragePart): Promise<number>;
}

/**
 * The recount of a tenant's storage where nothing lives long enough to do it in one go: some parts in each round, and nothing but a
 * record in between. How long it takes does not matter, since the sums when it began are part of the record (`Storage.putRight`).
 */
export class RecountRounds {
  readonly #deps: Pick<Deps, 'engine' | 'env'>;
  readonly #storage: Storage;
  readonly #progress: RecordsOf<Progress>;

  constructor({ deps, storage }: { deps: Pick<Deps, 'engine' | 'env'>; storage: Storage }) {
    this.#deps = deps;
    this.#storage = storage;
    this.#progress = recordsOf(deps.engine.records);
  }

  /** Begins one, unless one is under way. When its next round may come. */
  async begin(tenant: string): Promise<number> {
    const now = this.#deps.env.now();
    const last = (await this.#progress.get(progressKey(tenant)))?.value;
    if (last && last.after !== null) return now;
    const sums = await this.#storage.sums(tenant);
    await this.#progress.put(progressKey(tenant), { ...sums, found: 0, after: '' });
    return now + MOMENT_MS;
  }

  /** Goes on with one, or begins one that is due. When to come again; null where nothing was counted since the last. */
  async run(tenant: string, { most, measure }: Round): Promise<number | null> {
    const { engine, env } = this.#deps;
    const stored = await this.#progress.get(progressKey(tenant));
    if (stored === null || stored.value.after === null) {
      const due = await this.#dueAt(tenant, stored?.value);
      return due !== null && due <= env.now() ? this.begin(tenant) : due;
    }
    const { after, ...before } = stored.value;
    const parts = await listParts(engine.records, tenant, { after, most });
    const sizes = await Promise.all(parts.map(({ part }) => measure(part)));
    const found = sizes.reduce((sum, bytes) => sum + bytes, before.found);
    const done = parts.length === 0;
    if (done) await this.#storage.putRight(tenant, before, found);
    const progress = { ...before, found, after: done ? null : parts.at(-1)!.key };
    await this.#progress.put(progressKey(tenant), progress, { expect: stored.revision });
    if (done) return this.#dueAt(tenant, progress);
    return env.now() + (parts.length < most ? MOMENT_MS : 0);
  }

  /** Where nothing changed since the last one began, the sum is as right as it was left. */
  async #dueAt(tenant: string, last: Sums | undefined): Promise<number | null> {
    if ((await this.#storage.limitOf(tenant)) === null) return null;
    const { written, freed } = await this.#storage.sums(tenant);
    if (last?.written === written && last.freed === freed) return null;
    return this.#storage.dueAt(tenant);
  }
}
