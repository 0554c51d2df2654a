import type { Env } from '../../base/env.ts';
import {
  ACTIVITY_BATCH,
  ACTIVITY_WAITING,
  ACTIVITY_WRITE_MS,
  ACTIVITY_WRITES_KEPT,
  FIGURES_KEPT_MS,
} from '../../base/limits.ts';
import type { Activity, FiguresPoint, FiguresReport } from '../../contract/activity.ts';
import type { Engine } from '../../kernel/engine.ts';
import { allRecords, asJson, entriesBehind, fromJson, isOneIn, recordsOf } from '../records.ts';
import { WriteBehind } from '../write-behind.ts';

/** On average one write in this many checks whether the log must be trimmed. */
const TRIM_EVERY = 64;

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
 * Records what happens in each tenant, for people who watch. Nobody waits for it: entries are collected in memory and
 * written in batches a moment later. A crash loses the last moment. Entries left out, because too much happened at
 * once or the store was slow, are counted, and the log says how many.
 */
export class ActivityLog {
  readonly #deps: Store;
  /** Unwritten entries by tenant. */
  readonly #behind: WriteBehind<Waiting>;
  /** Tenants that were active in this process since their storage was last noted. */
  readonly activeTenants = new Set<string>();

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
    this.activeTenants.add(tenant);
    const items = [{ ...what, at: this.#deps.env.now() }];
    this.#behind.note(tenant, { items, leftOut: 0, figures: addFigures(figuresOf(what), figures) });
  }

  /** Writes all waiting entries; called before the store is closed. */
  flush(): Promise<void> {
    return this.#behind.flush();
  }

  async #write(tenant: string, { items, leftOut, figures }: Waiting): Promise<void> {
    const { logs } = this.#deps.engine;
    const stream = activityStream(tenant);
    const entry: ActivityEntry = { items, ...(leftOut > 0 ? { left_out: leftOut } : {}), figures };
    const seq = await logs.append(stream, asJson(entry));
    if (!isOneIn(TRIM_EVERY, seq!)) return;
    // The entry is written. A failure from here on is repaired by a later check.
    const { first, last, count } = await logs.info(stream).catch(() => ({ first: 0, last: 0, count: 0 }));
    if (count <= ACTIVITY_WRITES_KEPT + TRIM_EVERY) return;
    if (!(await saveHours(this.#deps, tenant).catch(() => false))) return;
    // Sequences may have holes, so this keeps at most ACTIVITY_WRITES_KEPT entries.
    const share = ACTIVITY_WRITES_KEPT / count;
    await logs.trim(stream, { before: Math.ceil(last - (last - first) * share) }).catch(() => {});
  }
}

/** Joins two batches. Items beyond the limit of one entry are only counted. */
function joined(older: Waiting, newer: Waiting): Waiting {
  const items = [...older.items, ...newer.items];
  const beyond = items.splice(ACTIVITY_BATCH).reduce((sum, { count }) => sum + (count ?? 1), 0);
  return {
    items,
    leftOut: older.leftOut + newer.leftOut + beyond,
    figures: addFigures(older.figures, newer.figures),
  };
}

/** Something that happened, without its position in the log. */
export type Happening = Omit<Activity, 'id' | 'at'>;

/** Counters by the hour, named as in the API's answer. */
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

/** Counters, and `storage_bytes`: the tenant's storage at the last measurement. */
export type Figures = { readonly [what in Counted | 'storage_bytes']?: number };

/** An entry of the activity log: what happened within a moment, how many items were left out, and the sums of all. */
export interface ActivityEntry {
  readonly items: readonly (Happening & { readonly at: number })[];
  readonly left_out?: number;
  /** Absent in entries of earlier versions, which counted elsewhere. */
  readonly figures?: Figures;
}

const HOUR_MS = 60 * 60 * 1000;

/** Formats an hour as `2026-11-17T03`, which sorts as text. */
const hourOf = (ms: number) => new Date(ms).toISOString().slice(0, 13);
export const activityStream = (tenant: string) => `act.${tenant}`;
const hourlyKey = (tenant: string) => `ten.${tenant}/hourly`;
const figuresPrefix = (tenant: string) => `ten.${tenant}/figures/`;

/** Returns the counters that one event increases. */
export function figuresOf({ kind, size = 0, count = 1 }: Happening): Figures {
  const pushed = { pushes: 1, pushed_bytes: size };
  switch (kind) {
    case 'pointer.pushed':
      return pushed;
    case 'task.sent':
      return { ...pushed, tasks_sent: 1 };
    case 'task.done':
      return { ...pushed, tasks_done: 1 };
    case 'task.failed':
      return { ...pushed, tasks_failed: 1 };
    case 'task.canceled':
      return pushed;
    case 'pointer.pulled':
      return { pulls: count };
    case 'channel.signal':
      return { signals: 1 };
    case 'thread.patched':
      return { patches: 1 };
    case 'artifact.created':
      return { artifacts: 1 };
    default:
      return {};
  }
}

/** Adds counters. Of two storage sizes the newer one stays. */
export function addFigures(sum: Figures, { storage_bytes, ...more }: Figures): Figures {
  const counted = Object.entries(more).map(([what, by]) => [what, (sum[what as Counted] ?? 0) + by]);
  return {
    ...sum,
    ...Object.fromEntries(counted),
    ...(storage_bytes === undefined ? {} : { storage_bytes }),
  };
}

/** Figures by the hour, up to an entry of the activity log. */
interface Hourly {
  readonly seq: number;
  readonly hours: { readonly [hour: string]: Figures };
}

/** Returns the saved figures plus those of the entries after them. */
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

/** Saves the figures of all entries, so that entries can be trimmed. Returns false if another process did so meanwhile. */
export async function saveHours({ engine, env }: Store, tenant: string): Promise<boolean> {
  const { seq, hours, expect } = await foldHours({ engine }, tenant);
  const oldest = hourOf(env.now() - FIGURES_KEPT_MS);
  const kept = Object.fromEntries(Object.entries(hours).filter(([hour]) => hour >= oldest));
  const put = recordsOf<Hourly>(engine.records).put(hourlyKey(tenant), { seq, hours: kept }, { expect });
  return (await put) !== null;
}

/** Stores the tenant's current storage; the last value of an hour stays. */
export async function writeStorage({ engine, env }: Store, tenant: string, bytes: number): Promise<void> {
  const now = env.now();
  const key = `${figuresPrefix(tenant)}${hourOf(now)}/storage_bytes`;
  await engine.records.put(key, bytes, { expiresAt: now + FIGURES_KEPT_MS });
}

/** Returns the figures of the last `hours`, including the current one. */
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
  // Storage sizes, and counters of earlier versions: one record per figure.
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
