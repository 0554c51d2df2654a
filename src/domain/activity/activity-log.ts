import type { Env } from '../../base/env.ts';
import {
  ACTIVITY_BATCH,
  ACTIVITY_WAITING,
  ACTIVITY_WRITE_MS,
  ACTIVITY_WRITES_KEPT,
  FIGURES_KEPT_MS,
} from '../../base/limits.ts';
import type { Activity, FiguresPoint, FiguresReport, SpendingRow } from '../../contract/activity.ts';
import type { Engine } from '../../kernel/engine.ts';
import { allRecords, asJson, entriesBehind, fromJson, isOneIn, recordsOf } from '../records.ts';
import { SumRecords, WriteBehind } from '../write-behind.ts';

/** Average number of writes after which the relay checks whether the log must be trimmed. */
const TRIM_EVERY = 64;

interface Store {
  readonly engine: Engine;
  readonly env: Pick<Env, 'now'>;
}

/**
 * Log of what happens in each tenant, for people who watch the tenant. No caller waits for a write: entries are
 * collected in memory and written in batches shortly afterwards. A crash loses the entries that are still in memory. If
 * too many entries come in a short time, or the store is slow, entries are left out, and the log says how many.
 */
export class ActivityLog {
  readonly #deps: Store;
  /** Entries that are not written yet, by tenant. */
  readonly #behind: WriteBehind<ActivityEntry>;
  /** Tenants that were active in this process since their storage size was last written. */
  readonly activeTenants = new Set<string>();
  /** Token figures of prompts by day. */
  readonly spending: Spending;

  constructor(deps: Store) {
    this.#deps = deps;
    this.spending = new Spending(deps);
    this.#behind = new WriteBehind(deps.engine, {
      delayMs: ACTIVITY_WRITE_MS,
      most: ACTIVITY_WAITING,
      merge: joined,
      write: (tenant, entry) => this.#write(tenant, entry),
    });
  }

  note(tenant: string, what: Happening, figures: Figures = {}): void {
    this.activeTenants.add(tenant);
    const items = [{ ...what, at: this.#deps.env.now() }];
    this.#behind.note(tenant, { items, figures: addFigures(figuresOf(what), figures) });
  }

  /**
   * Writes all waiting entries and token figures. Called before activity is read, so that the answer is complete, and
   * before the store is closed.
   */
  async flush(): Promise<void> {
    await Promise.all([this.#behind.flush(), this.spending.flush()]);
  }

  async #write(tenant: string, entry: ActivityEntry): Promise<void> {
    const { logs } = this.#deps.engine;
    const stream = activityStream(tenant);
    const seq = await logs.append(stream, asJson(entry));
    if (!isOneIn(TRIM_EVERY, seq!)) return;
    // Ignore errors of the trim: the entry is already in the log, and the check after a later write trims
    // again.
    const { first, last, count } = await logs.info(stream).catch(() => ({ first: 0, last: 0, count: 0 }));
    if (count <= ACTIVITY_WRITES_KEPT + TRIM_EVERY) return;
    if (!(await saveHours(this.#deps, tenant).catch(() => false))) return;
    // `logs.trim` needs a sequence, but the limit is a number of entries. Sequences have holes, so the sequence is
    // estimated from the share of entries to keep. About ACTIVITY_WRITES_KEPT entries stay.
    const share = ACTIVITY_WRITES_KEPT / count;
    await logs.trim(stream, { before: Math.ceil(last - (last - first) * share) }).catch(() => {});
  }
}

/**
 * Joins two batches. Items beyond the limit of one entry are dropped. `left_out` and the figures still count the
 * dropped items.
 */
function joined(older: ActivityEntry, newer: ActivityEntry): ActivityEntry {
  const items = [...older.items, ...newer.items];
  const beyond = items.splice(ACTIVITY_BATCH).reduce((sum, { count }) => sum + (count ?? 1), 0);
  const left_out = (older.left_out ?? 0) + (newer.left_out ?? 0) + beyond;
  const figures = addFigures(older.figures ?? {}, newer.figures ?? {});
  return { items, ...(left_out > 0 ? { left_out } : {}), figures };
}

/** An event without its id and its time. */
export type Happening = Omit<Activity, 'id' | 'at'>;

/** Names of the hourly counters. The answer of the API has a field with each name. */
const COUNTED = [
  'pushes',
  'pushed_bytes',
  'pulls',
  'signals',
  'patches',
  'artifacts',
  'tasks_sent',
  'tasks_done',
  'tasks_failed',
  'prompts',
  'pasted_tokens',
  'shown_tokens',
] as const satisfies readonly (keyof FiguresPoint)[];
type Counted = (typeof COUNTED)[number];

/** Values of the counters, and the tenant's storage size at the last measurement (`storage_bytes`). */
export type Figures = { readonly [what in Counted | 'storage_bytes']?: number };

/**
 * An entry of the activity log. It contains the events of one write, the number of events that were left out,
 * and the sums over all these events.
 */
export interface ActivityEntry {
  readonly items: readonly (Happening & { readonly at: number })[];
  readonly left_out?: number;
  /**
   * Sums over the events. Absent in entries of earlier versions, which stored the counters in separate
   * records.
   */
  readonly figures?: Figures;
}

const HOUR_MS = 60 * 60 * 1000;

/** Formats the hour of a time in UTC, such as `2026-11-17T03`. These texts sort by time. */
const hourOf = (ms: number) => new Date(ms).toISOString().slice(0, 13);
export const activityStream = (tenant: string) => `act.${tenant}`;
const hourlyKey = (tenant: string) => `ten.${tenant}/hourly`;
const figuresPrefix = (tenant: string) => `ten.${tenant}/figures/`;

/**
 * The counter that an event increases, by kind of event. The event of a pull increases `pulls` by the number of pulls
 * that it contains; all others increase their counter by 1. An event whose kind is in `PUSHED` also counts as a push.
 */
const COUNTER: { readonly [kind: string]: Counted } = {
  'task.sent': 'tasks_sent',
  'task.done': 'tasks_done',
  'task.failed': 'tasks_failed',
  'pointer.pulled': 'pulls',
  'channel.signal': 'signals',
  'thread.patched': 'patches',
  'artifact.created': 'artifacts',
};
/** Kinds of events that increase `pushes` and `pushed_bytes`. */
const PUSHED = new Set(['pointer.pushed', 'task.sent', 'task.done', 'task.failed', 'task.canceled']);

/** Returns the counters that one event increases. */
function figuresOf({ kind, size = 0, count = 1 }: Happening): Figures {
  const counter = COUNTER[kind];
  return {
    ...(PUSHED.has(kind) ? { pushes: 1, pushed_bytes: size } : {}),
    ...(counter ? { [counter]: counter === 'pulls' ? count : 1 } : {}),
  };
}

/**
 * Adds counters. If both arguments have a storage size, the size of the second one is kept, because it is
 * newer.
 */
export function addFigures(sum: Figures, { storage_bytes, ...more }: Figures): Figures {
  const counted = Object.entries(more).map(([what, by]) => [what, (sum[what as Counted] ?? 0) + by]);
  return {
    ...sum,
    ...Object.fromEntries(counted),
    ...(storage_bytes === undefined ? {} : { storage_bytes }),
  };
}

/** Figures per hour. They include all log entries up to the sequence `seq`. */
interface Hourly {
  readonly seq: number;
  readonly hours: { readonly [hour: string]: Figures };
}

/**
 * Returns the figures per hour of all log entries: the saved figures, plus the figures of entries that were
 * written after the save.
 */
async function foldHours({ engine }: Pick<Store, 'engine'>, tenant: string) {
  const stored = await recordsOf<Hourly>(engine.records).get(hourlyKey(tenant));
  let seq = stored?.value.seq ?? 0;
  const hours = { ...stored?.value.hours };
  for await (const entry of entriesBehind(engine.logs, activityStream(tenant), seq)) {
    const { figures } = fromJson<ActivityEntry>(entry.data);
    const hour = hourOf(entry.at);
    if (figures) hours[hour] = addFigures(hours[hour] ?? {}, figures);
    seq = entry.seq;
  }
  return { seq, hours, expect: stored?.revision ?? ('absent' as const) };
}

/**
 * Saves the figures of all entries, so that old entries can be trimmed without losing their figures.
 * Returns false if another process has saved figures meanwhile.
 */
export async function saveHours({ engine, env }: Store, tenant: string): Promise<boolean> {
  const { seq, hours, expect } = await foldHours({ engine }, tenant);
  const oldest = hourOf(env.now() - FIGURES_KEPT_MS);
  const recent = Object.fromEntries(Object.entries(hours).filter(([hour]) => hour >= oldest));
  const put = recordsOf<Hourly>(engine.records).put(hourlyKey(tenant), { seq, hours: recent }, { expect });
  return (await put) !== null;
}

/** Stores the tenant's current storage size. A later call in the same hour replaces it. */
export async function writeStorage({ engine, env }: Store, tenant: string, bytes: number): Promise<void> {
  const now = env.now();
  const key = `${figuresPrefix(tenant)}${hourOf(now)}/storage_bytes`;
  await engine.records.put(key, bytes, { expiresAt: now + FIGURES_KEPT_MS });
}

/** Returns the figures of the last `hours` hours, including the current hour: one point per hour or per day. */
export async function readFigures(
  store: Store,
  tenant: string,
  hours: number,
  step: FiguresReport['step'],
): Promise<FiguresPoint[]> {
  const prefix = figuresPrefix(tenant);
  const length = step === 'hour' ? 13 : 10;
  const from = store.env.now() - (hours - 1) * HOUR_MS;
  const points = new Map<string, FiguresPoint>();
  for (let hour = 0; hour < hours; hour++) {
    const name = hourOf(from + hour * HOUR_MS).slice(0, length);
    if (!points.has(name)) points.set(name, emptyPoint(name));
  }
  const add = (hour: string, figures: Figures) => {
    const name = hour.slice(0, length);
    const point = points.get(name);
    if (point && hour >= hourOf(from)) points.set(name, { ...point, ...addFigures(sumsOf(point), figures) });
  };
  for (const [hour, figures] of Object.entries((await foldHours(store, tenant)).hours)) add(hour, figures);
  // Each record under `prefix` contains one figure of one hour: a storage size, or a counter that an earlier version of
  // the relay stored.
  const records = recordsOf<number>(store.engine.records);
  for await (const { key, value } of allRecords(records, prefix, { after: prefix + hourOf(from) })) {
    const [hour, what] = key.slice(prefix.length).split('/') as [string, keyof Figures];
    add(hour, { [what]: value });
  }
  return Array.from(points.values(), (point) => ({
    ...point,
    avoided_tokens: point.prompts === 0 ? null : point.pasted_tokens - point.shown_tokens,
  }));
}

function sumsOf(point: FiguresPoint): Figures {
  return Object.fromEntries(COUNTED.map((what) => [what, point[what]]));
}

function emptyPoint(name: string): FiguresPoint {
  const at = new Date(name.length === 10 ? name : `${name}:00Z`).toISOString();
  const zeros = Object.fromEntries(COUNTED.map((what) => [what, 0])) as { [what in Counted]: number };
  return { at, ...zeros, avoided_tokens: null, storage_bytes: null };
}

/** Names of the token figures, in the order in which a record stores their numbers. */
const SPENT = [
  'prompts',
  'input_tokens',
  'cached_input_tokens',
  'output_tokens',
  'pasted_tokens',
  'shown_tokens',
] as const satisfies readonly (keyof SpendingRow)[];

const spendingPrefix = (tenant: string) => `ten.${tenant}/spending/`;
const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);

/** Tokens of prompts by day, thread, agent, model and project: one record per thread and day. */
class Spending {
  readonly #deps: Store;
  readonly #sums: SumRecords;

  constructor(deps: Store) {
    this.#deps = deps;
    this.#sums = new SumRecords(deps, { keptMs: FIGURES_KEPT_MS });
  }

  note(tenant: string, { thread, agent, model, project, ...figures }: Omit<SpendingRow, 'day'>): void {
    const key = `${spendingPrefix(tenant)}${dayOf(this.#deps.env.now())}/${thread}`;
    this.#sums.add(key, {
      [JSON.stringify([agent, model, project])]: SPENT.map((name) => figures[name]),
    });
  }

  flush(): Promise<void> {
    return this.#sums.flush();
  }

  /** Returns the figures of the last `days` days, the oldest day first. */
  async rows(tenant: string, days: number): Promise<SpendingRow[]> {
    await this.flush();
    const prefix = spendingPrefix(tenant);
    const after = prefix + dayOf(this.#deps.env.now() - (days - 1) * 86_400_000);
    const rows: SpendingRow[] = [];
    for await (const { key, value } of this.#sums.all(prefix, { after })) {
      const [day, thread] = key.slice(prefix.length).split('/') as [string, string];
      for (const [names, figures] of Object.entries(value)) {
        const [agent, model, project = ''] = JSON.parse(names) as [string, string, string?];
        const named = Object.fromEntries(SPENT.map((name, at) => [name, figures[at] ?? 0]));
        rows.push({ day, thread, agent, model, project, ...named } as SpendingRow);
      }
    }
    return rows;
  }
}
