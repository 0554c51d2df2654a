import type { Engine } from '../../kernel/engine.ts';
import type { Deps } from '../deps.ts';

const handlesKey = (tenant: string) => `ten.${tenant}/handles`;

/** Maximum number of handles that are reserved at once. */
const MAX_BLOCK = 32;
/**
 * Time in ms in which reserved numbers are used. Older ones are skipped, because other processes have given
 * higher numbers since, and lists are ordered by number.
 */
const FRESH_MS = 1_000;

/** Numbers that this process has reserved, from `next` to before `end`. */
interface Block {
  readonly at: number;
  readonly size: number;
  readonly end: number;
  next: number;
}

/**
 * Gives each pushed pointer of a tenant the next number. No number is given twice, but numbers may be skipped.
 * The first push reserves one number. Pushes in quick succession reserve up to `MAX_BLOCK` at once, because
 * each reservation is a write.
 */
export class Handles {
  readonly #blocks = new Map<string, Block>();
  readonly #reserving = new Set<string>();

  /** Uses the engine of the caller, because a Worker must not share calls between requests. */
  async take({ engine, env }: Pick<Deps, 'engine' | 'env'>, tenant: string): Promise<number> {
    const block = this.#blocks.get(tenant);
    const fresh = block !== undefined && env.now() - block.at < FRESH_MS;
    if (fresh && block.next < block.end) return block.next++;
    // Other pushes that arrive meanwhile reserve one number each, so that no block is dropped unused.
    const isFirst = !this.#reserving.has(tenant);
    const size = fresh && isFirst ? Math.min(block.size * 2, MAX_BLOCK) : 1;
    if (isFirst) this.#reserving.add(tenant);
    try {
      const last = (await engine.records.add(handlesKey(tenant), size))!;
      const first = last - size + 1;
      if (isFirst) this.#blocks.set(tenant, { at: env.now(), size, next: first + 1, end: last + 1 });
      return first;
    } finally {
      if (isFirst) this.#reserving.delete(tenant);
    }
  }
}

/**
 * Number of handles that a restored store skips. The lost part of the store may have used the numbers after
 * the backup, and a handle is never reused. A relay at full speed needs half a day for this many pushes.
 */
const RESTORE_SKIPS = 100_000_000;

/** Skips handles of all tenants after a backup was restored. A store that has moved accepts no writes. */
export async function skipHandles({ moving, records }: Pick<Engine, 'moving' | 'records'>): Promise<void> {
  if ((await moving!.moveStatus()) !== null) return;
  for await (const { key } of moving!.exportRecords())
    if (/^ten\.[^/]+\/handles$/.test(key)) await records.add(key, RESTORE_SKIPS);
}
