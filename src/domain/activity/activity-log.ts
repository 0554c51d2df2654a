import type { Env } from '../../base/env.ts';
import {
  ACTIVITY_BATCH,
  ACTIVITY_WAITING,
  ACTIVITY_WRITE_MS,
  ACTIVITY_WRITES_KEPT,
} from '../../base/limits.ts';
import type { Engine } from '../../kernel/engine.ts';
import { asJson, isOneIn } from '../records.ts';
import { WriteBehind } from '../write-behind.ts';
import {
  type ActivityEntry,
  activityStream,
  addFigures,
  type Figures,
  figuresOf,
  type Happening,
  saveHours,
} from './figures.ts';

/** One write in so many looks whether too many are kept. */
const LOOK_EVERY = 64;

interface Store {
  readonly engine: Engine;
  readonly env: Pick<Env, 'now'>;
}

interface Waiting {
  readonly items: ActivityEntry['items'];
  readonly leftOut: number;
  readonly figures: Figures;
}

/**
 * Tells what happens in each tenant, for people who watch. Nobody waits for it: what happens is noted in memory and written a
 * moment later, together. A crash loses the last moment; what is not told, because too much happened at once or the store was
 * slow, is counted and said.
 */
export class ActivityLog {
  readonly #deps: Store;
  /** By tenant. */
  readonly #behind: WriteBehind<Waiting>;
  /** The tenants that were noted in this process since the last call, for who looks after their figures. */
  readonly seen = new Set<string>();

  constructor(deps: Store) {
    this.#deps = deps;
    this.#behind = new WriteBehind(deps.engine, {
      delayMs: ACTIVITY_WRITE_MS,
      most: ACTIVITY_WAITING,
      merge: joined,
      write: (tenant, waiting) => this.#write(tenant, waiting),
    });
  }

  note(tenant: string, what: Happening, figures: Figures = {}): void {
    this.seen.add(tenant);
    const items = [{ ...what, at: this.#deps.env.now() }];
    this.#behind.note(tenant, { items, leftOut: 0, figures: addFigures(figuresOf(what), figures) });
  }

  /** Writes everything that waits: before the store is closed. */
  flush(): Promise<void> {
    return this.#behind.flush();
  }

  async #write(tenant: string, { items, leftOut, figures }: Waiting): Promise<void> {
    const { logs } = this.#deps.engine;
    const stream = activityStream(tenant);
    const entry: ActivityEntry = { items, ...(leftOut > 0 ? { left_out: leftOut } : {}), figures };
    const seq = await logs.append(stream, asJson(entry));
    if (!isOneIn(LOOK_EVERY, seq!)) return;
    // The entry is written: what goes wrong from here on is made good by a later look.
    const { first, last, count } = await logs.info(stream).catch(() => ({ first: 0, last: 0, count: 0 }));
    if (count <= ACTIVITY_WRITES_KEPT + LOOK_EVERY) return;
    if (!(await saveHours(this.#deps, tenant).catch(() => false))) return;
    // Sequences may have holes, so this keeps at most so many.
    const share = ACTIVITY_WRITES_KEPT / count;
    await logs.trim(stream, { before: Math.ceil(last - (last - first) * share) }).catch(() => {});
  }
}

/** What is too much for one entry is counted. */
function joined(older: Waiting, newer: Waiting): Waiting {
  const items = [...older.items, ...newer.items];
  const beyond = items.splice(ACTIVITY_BATCH).reduce((sum, { count }) => sum + (count ?? 1), 0);
  return {
    items,
    leftOut: older.leftOut + newer.leftOut + beyond,
    figures: addFigures(older.figures, newer.figures),
  };
}
