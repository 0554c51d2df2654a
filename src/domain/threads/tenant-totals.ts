import type { Stats } from '../../contract/threads/tokens.ts';
import type { Logs } from '../../kernel/logs.ts';

const PAGE = 500;
/** Changes that are told; who has missed more adds up anew. */
const TOLD = 20_000;
/** How many changes this process makes before it looks whether too many are told. */
const LOOK_EVERY = 1_000;
/** Threads of all tenants whose figures are held in memory. */
const HELD = 200_000;

/** Names the threads that changed, one entry for each change. */
const changesOf = (tenant: string) => `tch.${tenant}`;

interface Held {
  /** The last change that is in the figures. */
  seq: number;
  readonly stats: Map<string, Stats>;
}

/** What the threads of a tenant are, for who adds them up. */
export interface Threads {
  all(): AsyncIterable<string>;
  /** Null for a thread that is not there. */
  stats(id: string): Promise<Stats | null>;
}

/**
 * The figures of every thread of a tenant, held in memory and brought up to date from the log of changes at every use. The
 * first use in a process adds up all threads.
 */
export class TenantTotals {
  readonly #logs: Logs;
  readonly #held = new Map<string, Held>();
  readonly #turns = new Map<string, Promise<unknown>>();
  #marks = 0;

  constructor(logs: Logs) {
    this.#logs = logs;
  }

  /**
   * Tells that a thread changes. To be called in the same turn as the write, right behind it: an engine with group commit
   * then commits both at once.
   */
  async changed(tenant: string, id: string): Promise<void> {
    try {
      await this.#logs.append(changesOf(tenant), id);
      if (++this.#marks % LOOK_EVERY !== 0) return;
      const { count, last } = await this.#logs.info(changesOf(tenant));
      if (count > TOLD) await this.#logs.trim(changesOf(tenant), { before: last });
    } catch {
      // The write itself must not fail for this. What is held here may be wrong now, so it is added up anew.
      this.#held.delete(tenant);
    }
  }

  /** One after the other, so that no figure is replaced by an older one. */
  async of(tenant: string, threads: Threads): Promise<Stats[]> {
    const before = this.#turns.get(tenant) ?? Promise.resolve();
    const mine = before.then(() => this.#current(tenant, threads));
    const settled = mine.catch(() => {});
    this.#turns.set(tenant, settled);
    try {
      return [...(await mine).stats.values()];
    } finally {
      if (this.#turns.get(tenant) === settled) this.#turns.delete(tenant);
    }
  }

  async #current(tenant: string, threads: Threads): Promise<Held> {
    const held = this.#held.get(tenant);
    if (!held) return this.#all(tenant, threads);
    const changed = new Set<string>();
    let { seq } = held;
    for (;;) {
      const { entries, gap } = await this.#logs.read(changesOf(tenant), { after: seq, limit: PAGE });
      if (gap) return this.#all(tenant, threads);
      for (const { data } of entries) changed.add(String(data));
      seq = entries.at(-1)?.seq ?? seq;
      if (entries.length < PAGE) break;
    }
    for (const id of changed) await this.#take(held, id, threads);
    held.seq = seq;
    return held;
  }

  async #all(tenant: string, threads: Threads): Promise<Held> {
    // From before the first look: what changes meanwhile is looked at again.
    const { last } = await this.#logs.info(changesOf(tenant));
    const held: Held = { seq: last, stats: new Map() };
    for await (const id of threads.all()) await this.#take(held, id, threads);
    const sizes = [...this.#held.values()].map(({ stats }) => stats.size);
    if (sizes.reduce((sum, size) => sum + size, held.stats.size) > HELD) this.#held.clear();
    this.#held.set(tenant, held);
    return held;
  }

  async #take({ stats }: Held, id: string, threads: Threads): Promise<void> {
    const found = await threads.stats(id);
    if (found) stats.set(id, found);
    else stats.delete(id);
  }
}
