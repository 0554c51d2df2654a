import type { Env } from '../../base/env.ts';
import {
  ACTIVITY_BATCH,
  ACTIVITY_WAITING,
  ACTIVITY_WRITE_MS,
  ACTIVITY_WRITES_KEPT,
} from '../../base/limits.ts';
import type { Engine } from '../../kernel/engine.ts';
import { asJson, isOneIn } from '../records.ts';
import { addFigures, type Figures, figuresOf, type Happening, writeFigures } from './figures.ts';

export const activityStream = (tenant: string) => `act.${tenant}`;

/** Of more tenants than this, those that are still are forgotten. */
const TENANTS_HELD = 1_000;
/** One write in so many looks whether too many are kept. */
const LOOK_EVERY = 64;

/** What an entry of the log holds: what happened within a moment, and how much of it is not told. */
export interface ActivityEntry {
  readonly items: readonly (Happening & { readonly at: number })[];
  readonly left_out?: number;
}

interface Store {
  readonly engine: Engine;
  readonly env: Pick<Env, 'now'>;
}

interface Waiting {
  items: (Happening & { readonly at: number })[];
  leftOut: number;
  figures: Figures;
  isDue: boolean;
  writing: Promise<void> | null;
  /** Before this moment nothing is written. */
  notBefore: number;
}

/**
 * Tells what happens in each tenant, for people who watch. Nobody waits for it: what happens is noted in memory and written a
 * moment later, together. A crash loses the last moment; what is not told, because too much happened at once or the store was
 * slow, is counted and said.
 */
export class ActivityLog {
  readonly #deps: Store;
  readonly #waiting = new Map<string, Waiting>();
  /** Items that wait, of all tenants. */
  #held = 0;

  constructor(deps: Store) {
    this.#deps = deps;
  }

  /** The tenants that were noted in this process since the last call, for who looks after their figures. */
  readonly seen = new Set<string>();

  note(tenant: string, what: Happening, figures: Figures = {}): void {
    const waiting = this.#of(tenant);
    addFigures(waiting.figures, figuresOf(what));
    addFigures(waiting.figures, figures);
    if (waiting.items.length < ACTIVITY_BATCH && this.#held < ACTIVITY_WAITING) {
      waiting.items.push({ ...what, at: this.#deps.env.now() });
      this.#held++;
    } else waiting.leftOut += what.count ?? 1;
    this.#schedule(tenant, waiting);
  }

  /** Writes everything that waits: before the store is closed. */
  async flush(): Promise<void> {
    for (;;) {
      const open = [...this.#waiting].filter(([, { isDue, writing }]) => isDue || writing !== null);
      if (open.length === 0) return;
      await Promise.all(open.map(([tenant, waiting]) => waiting.writing ?? this.#write(tenant, waiting)));
    }
  }

  #of(tenant: string): Waiting {
    let waiting = this.#waiting.get(tenant);
    if (!waiting) {
      if (this.#waiting.size >= TENANTS_HELD) this.#forget();
      waiting = { items: [], leftOut: 0, figures: {}, isDue: false, writing: null, notBefore: 0 };
      this.#waiting.set(tenant, waiting);
      this.seen.add(tenant);
    }
    return waiting;
  }

  #forget(): void {
    for (const [tenant, { isDue, leftOut, writing, notBefore }] of this.#waiting)
      if (!isDue && leftOut === 0 && writing === null && notBefore <= Date.now())
        this.#waiting.delete(tenant);
  }

  #schedule(tenant: string, waiting: Waiting): void {
    if (waiting.isDue || waiting.writing !== null) return;
    waiting.isDue = true;
    // A clock that was set back makes nobody wait longer. Node's clock of intervals takes a command milliseconds to load.
    const wait = Math.min(Math.max(0, waiting.notBefore - Date.now()), ACTIVITY_WRITE_MS);
    this.#deps.engine.defer(async () => {
      if (waiting.isDue) await this.#write(tenant, waiting);
    }, wait);
  }

  #write(tenant: string, waiting: Waiting): Promise<void> {
    const { items, leftOut, figures } = waiting;
    this.#held -= items.length;
    Object.assign(waiting, { items: [], leftOut: 0, figures: {}, isDue: false });
    waiting.notBefore = Date.now() + ACTIVITY_WRITE_MS;
    waiting.writing = this.#append(tenant, items, leftOut, figures)
      .catch(() => {
        // It is not told then, but it is said that it is not.
        waiting.leftOut += leftOut + items.length;
      })
      .then(() => {
        waiting.writing = null;
        if (waiting.items.length > 0) this.#schedule(tenant, waiting);
      });
    return waiting.writing;
  }

  /** In one turn, so that an engine with group commit makes one commit of it. */
  async #append(
    tenant: string,
    items: ActivityEntry['items'],
    leftOut: number,
    figures: Figures,
  ): Promise<void> {
    const { engine, env } = this.#deps;
    const stream = activityStream(tenant);
    const entry: ActivityEntry = { items, ...(leftOut > 0 ? { left_out: leftOut } : {}) };
    const counted = writeFigures(this.#deps, tenant, env.now(), figures).catch(() => {});
    const seq = await engine.logs.append(stream, asJson(entry));
    await counted;
    if (isOneIn(LOOK_EVERY, seq!)) await this.#trim(stream);
  }

  async #trim(stream: string): Promise<void> {
    const { logs } = this.#deps.engine;
    const { first, last, count } = await logs.info(stream);
    if (count <= ACTIVITY_WRITES_KEPT + LOOK_EVERY) return;
    // Sequences may have holes, so this keeps at most so many.
    const share = ACTIVITY_WRITES_KEPT / count;
    await logs.trim(stream, { before: Math.ceil(last - (last - first) * share) });
  }
}
