import { toHex } from '../../base/ids.ts';
import { pause } from '../../base/pause.ts';
import { readText } from '../../base/utf8.ts';
import type { Deps } from '../deps.ts';
import { isOneIn, type RecordsOf, recordsOf } from '../records.ts';
import { SUMMED, type ThreadFigures } from './token-ledger.ts';

const PAGE = 500;
/** Changes that are told. Beyond it the figures are brought up to date and saved, and what is in them is told no longer. */
const TOLD = 20_000;
/** One change in so many looks whether too many are told. */
const LOOK_EVERY = 256;
/** Threads of all tenants whose figures are held in memory. */
const HELD = 200_000;
/** Figures are saved when so many changes have come since, or a tenth as many as there are threads. */
const SAVE_EVERY = 100;
/**
 * A change is told in the turn of its write, and where an engine has no transactions the write may come to light after it: a thread in which
 * nothing is new is looked at again, for so long. No write takes longer.
 */
const SETTLE_MS = 60_000;
/** Changes told last that are held against what was found when all threads are added up. */
const RECENT = 100;
/** Threads that are looked at in one turn, before others get to run. */
const AT_ONCE = 50;

/** Names the threads that changed, one entry for each change. */
const changesOf = (tenant: string) => `tch.${tenant}`;
/** Where the saved figures are. The number counts their form: those of another are not read. */
const savedKey = (tenant: string) => `ten.${tenant}/totals.2`;

/** The figures of one thread. */
export interface Figures {
  readonly stats: ThreadFigures;
  /** What it takes up. */
  readonly stored: number;
}

interface Held {
  /** The last change that is in the figures. */
  seq: number;
  /** Changes that came since they were saved. */
  unsaved: number;
  readonly figures: Map<string, Figures>;
  /** Threads whose change was told and not seen yet, with when it was told. */
  readonly unseen: Map<string, number>;
}

interface Saved {
  readonly seq: number;
  readonly blob: string;
}

/** What the threads of a tenant are, for who adds them up. */
export interface Threads {
  all(): AsyncIterable<string>;
  /** Null for a thread that is not there. */
  figures(id: string): Promise<Figures | null>;
}

/**
 * The figures of every thread of a tenant, held in memory and brought up to date from the log of changes at every use. They
 * are saved now and then with their place in that log, so that another process needs only what has changed since; the
 * first use in a store adds up all threads.
 */
export class TenantTotals {
  readonly #deps: Pick<Deps, 'engine' | 'env'>;
  readonly #saved: RecordsOf<Saved>;
  readonly #held = new Map<string, Held>();
  readonly #turns = new Map<string, Promise<unknown>>();
  /** Called when so many changes are told that the figures had better be saved. Nobody waits for it. */
  onMany: (tenant: string) => void = () => {};

  constructor(deps: Pick<Deps, 'engine' | 'env'>) {
    this.#deps = deps;
    this.#saved = recordsOf(deps.engine.records);
  }

  /**
   * Tells that a thread changes. To be called in the same turn as the write, right behind it: an engine with group commit
   * then commits both at once.
   */
  async changed(tenant: string, id: string): Promise<void> {
    const { engine } = this.#deps;
    try {
      const seq = await engine.logs.append(changesOf(tenant), id);
      if (!isOneIn(LOOK_EVERY, seq!)) return;
      if ((await engine.logs.info(changesOf(tenant))).count > TOLD) this.onMany(tenant);
    } catch {
      // The write itself must not fail for this. What is held and saved may be wrong now, so it is added up anew.
      this.#held.delete(tenant);
      await this.#discard(tenant).catch(() => {});
    }
  }

  /** One after the other, so that no figure is replaced by an older one. */
  async of(tenant: string, threads: Threads): Promise<Figures[]> {
    const before = this.#turns.get(tenant) ?? Promise.resolve();
    const mine = before.then(() => this.#current(tenant, threads));
    const settled = mine.catch(() => {});
    this.#turns.set(tenant, settled);
    try {
      return [...(await mine).figures.values()];
    } finally {
      if (this.#turns.get(tenant) === settled) this.#turns.delete(tenant);
    }
  }

  async #current(tenant: string, threads: Threads): Promise<Held> {
    const held =
      (await this.#follow(tenant, this.#held.get(tenant) ?? null, threads)) ??
      (await this.#follow(tenant, await this.#load(tenant), threads)) ??
      (await this.#all(tenant, threads));
    if (held.unseen.size === 0 && held.unsaved >= Math.max(SAVE_EVERY, held.figures.size / 10)) {
      // Who cannot save has the figures all the same.
      await this.#save(tenant, held).catch(() => {});
    }
    this.#keep(tenant, held);
    return held;
  }

  /** Brings figures up to date; null where there are none, or where changes that they lack are told no longer. */
  async #follow(tenant: string, held: Held | null, threads: Threads): Promise<Held | null> {
    if (!held) return null;
    const changed = new Map(held.unseen);
    let { seq, unsaved } = held;
    for (;;) {
      const { entries, gap } = await this.#deps.engine.logs.read(changesOf(tenant), {
        after: seq,
        limit: PAGE,
      });
      if (gap) return null;
      for (const { data, at } of entries) changed.set(String(data), at);
      unsaved += entries.length;
      seq = entries.at(-1)?.seq ?? seq;
      if (entries.length < PAGE) break;
    }
    const before = new Map([...changed.keys()].map((id) => [id, held.figures.get(id)?.stored]));
    await this.#take(held, changed.keys(), threads);
    held.unseen.clear();
    this.#noteUnseen(held, changed, (id) => before.get(id) === held.figures.get(id)?.stored);
    return Object.assign(held, { seq, unsaved });
  }

  #noteUnseen({ unseen }: Held, told: Iterable<[string, number]>, isUnseen: (id: string) => boolean): void {
    const settled = this.#deps.env.now() - SETTLE_MS;
    for (const [id, at] of told) if (at > settled && isUnseen(id)) unseen.set(id, at);
  }

  async #all(tenant: string, threads: Threads): Promise<Held> {
    // From before the first look: what changes meanwhile is looked at again.
    const { first, last, count } = await this.#deps.engine.logs.info(changesOf(tenant));
    const held: Held = { seq: last, unsaved: 0, figures: new Map(), unseen: new Map() };
    await this.#take(held, threads.all(), threads);
    const recent = { after: Math.max(first - 1, last - RECENT), limit: RECENT };
    const { entries } = await this.#deps.engine.logs.read(changesOf(tenant), recent);
    const told = entries.map(({ data, at }) => [String(data), at] as [string, number]);
    this.#noteUnseen(held, told, (id) => !held.figures.has(id));
    held.unsaved = Math.max(count, held.figures.size);
    return held;
  }

  async #take(
    { figures }: Held,
    ids: Iterable<string> | AsyncIterable<string>,
    threads: Threads,
  ): Promise<void> {
    const take = async (some: readonly string[]) => {
      const found = await Promise.all(some.map((id) => threads.figures(id)));
      for (const [i, id] of some.entries()) {
        if (found[i]) figures.set(id, found[i]);
        else figures.delete(id);
      }
      await pause(0);
    };
    let some: string[] = [];
    for await (const id of ids) {
      if (some.push(id) < AT_ONCE) continue;
      await take(some);
      some = [];
    }
    await take(some);
  }

  #keep(tenant: string, held: Held): void {
    this.#held.set(tenant, held);
    const sizes = [...this.#held.values()].map(({ figures }) => figures.size);
    if (sizes.reduce((sum, size) => sum + size, 0) <= HELD) return;
    this.#held.clear();
    this.#held.set(tenant, held);
  }

  async #load(tenant: string): Promise<Held | null> {
    const saved = (await this.#saved.get(savedKey(tenant)))?.value;
    const found = saved && (await this.#deps.engine.blobs.get(saved.blob));
    if (!found) return null;
    const rows = JSON.parse(await readText(found.body)) as Row[];
    const figures = new Map(rows.map((row) => [row[0], unpacked(row)]));
    return { seq: saved.seq, unsaved: 0, figures, unseen: new Map() };
  }

  async #discard(tenant: string): Promise<void> {
    const saved = (await this.#saved.get(savedKey(tenant)))?.value;
    if (saved && (await this.#saved.delete(savedKey(tenant))))
      await this.#deps.engine.blobs.delete(saved.blob);
  }

  /** Saves figures that are further on than those that are saved, and has what is in them told no longer. */
  async #save(tenant: string, held: Held): Promise<void> {
    const { engine, env } = this.#deps;
    const { seq } = held;
    const before = await this.#saved.get(savedKey(tenant));
    if (before && before.value.seq >= seq) return;
    const blob = `${savedKey(tenant)}/${toHex(env.randomBytes(8))}`;
    const rows = [...held.figures.values()].map(packed);
    await engine.blobs.put(blob, new TextEncoder().encode(JSON.stringify(rows)));
    const won = await this.#saved.put(
      savedKey(tenant),
      { seq, blob },
      { expect: before?.revision ?? 'absent' },
    );
    const old = won === null ? blob : before?.value.blob;
    if (old !== undefined) await engine.blobs.delete(old);
    if (won === null) return;
    held.unsaved = 0;
    await engine.logs.trim(changesOf(tenant), { before: seq });
  }
}

/** The figures of a thread without their names, of which there would be many thousand copies. */
type Row = readonly [
  id: string,
  stored: number,
  stats: number[],
  breakdown: number[],
  tokenizer: string,
  estimated: boolean,
  billed: number[],
  prompts: number[] | null,
];

function packed({ stats, stored }: Figures): Row {
  return [
    stats.thread_id,
    stored,
    bare(stats, SUMMED.stats),
    bare(stats.breakdown, SUMMED.breakdown),
    stats.tokenizer,
    stats.estimated,
    bare(stats.billed, SUMMED.billed),
    stats.prompts && bare(stats.prompts, SUMMED.prompts),
  ];
}

function unpacked([
  thread_id,
  stored,
  stats,
  breakdown,
  tokenizer,
  estimated,
  billed,
  prompts,
]: Row): Figures {
  return {
    stored,
    stats: {
      thread_id,
      ...named(stats, SUMMED.stats),
      breakdown: named(breakdown, SUMMED.breakdown),
      tokenizer,
      estimated,
      billed: named(billed, SUMMED.billed),
      prompts: prompts && named(prompts, SUMMED.prompts),
    },
  };
}

function bare<K extends string>(figures: { readonly [field in K]: number }, fields: readonly K[]): number[] {
  return fields.map((field) => figures[field]);
}

function named<K extends string>(figures: number[], fields: readonly K[]) {
  return Object.fromEntries(fields.map((field, i) => [field, figures[i]])) as { [field in K]: number };
}
