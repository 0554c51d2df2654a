import type { Env } from '../../base/env.ts';
import { FIGURES_KEPT_MS } from '../../base/limits.ts';
import type { Activity, FiguresPoint, FiguresReport } from '../../contract/activity.ts';
import type { Engine } from '../../kernel/engine.ts';
import { allRecords, recordsOf } from '../records.ts';

/** Something that happened, without its place in the log. */
export type Happening = Omit<Activity, 'id' | 'at'>;

/** What is counted by the hour: the names are those of the answer. */
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

export type Figures = { [what in Counted]?: number };

interface Store {
  readonly engine: Engine;
  readonly env: Pick<Env, 'now'>;
}

const HOUR_MS = 60 * 60 * 1000;
const STORAGE = 'storage_bytes';

/** `2026-11-17T03`: as text, the hours are in order. */
const hourOf = (ms: number) => new Date(ms).toISOString().slice(0, 13);
const figuresPrefix = (tenant: string) => `ten.${tenant}/figures/`;
const figureKey = (tenant: string, at: number, what: string) =>
  `${figuresPrefix(tenant)}${hourOf(at)}/${what}`;

/** How many of what one thing that happened is. */
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

export function addFigures(sum: Figures, more: Figures): void {
  for (const [what, by] of Object.entries(more)) sum[what as Counted] = (sum[what as Counted] ?? 0) + by;
}

export async function writeFigures(
  { engine }: Pick<Store, 'engine'>,
  tenant: string,
  now: number,
  figures: Figures,
): Promise<void> {
  const expiresAt = now + FIGURES_KEPT_MS;
  const added = Object.entries(figures).map(([what, by]) =>
    by > 0 ? engine.records.add(figureKey(tenant, now, what), by, { expiresAt }) : null,
  );
  await Promise.all(added);
}

/** Notes what a tenant stores now; the last one of an hour stays. */
export async function writeStorage({ engine, env }: Store, tenant: string, bytes: number): Promise<void> {
  const now = env.now();
  await engine.records.put(figureKey(tenant, now, STORAGE), bytes, { expiresAt: now + FIGURES_KEPT_MS });
}

/** The last `hours`, the one under way among them. */
export async function readFigures(
  { engine, env }: Store,
  tenant: string,
  hours: number,
  step: FiguresReport['step'],
): Promise<FiguresPoint[]> {
  const prefix = figuresPrefix(tenant);
  const length = step === 'hour' ? 13 : 10;
  const now = env.now();
  const from = now - (hours - 1) * HOUR_MS;
  const points = new Map<string, { -readonly [F in keyof FiguresPoint]: FiguresPoint[F] }>();
  for (let hour = 0; hour < hours; hour++) {
    const name = hourOf(from + hour * HOUR_MS).slice(0, length);
    if (!points.has(name)) points.set(name, emptyPoint(name));
  }
  const records = recordsOf<number>(engine.records);
  for await (const { key, value } of allRecords(records, prefix, { after: prefix + hourOf(from) })) {
    const [hour, what] = key.slice(prefix.length).split('/') as [string, Counted | typeof STORAGE];
    const point = points.get(hour.slice(0, length));
    if (!point) continue;
    if (what === STORAGE) point.storage_bytes = value;
    else point[what] += value;
  }
  return Array.from(points.values(), (point) => ({
    ...point,
    avoided_tokens: point.prompts === 0 ? null : point.pasted_tokens - point.shown_tokens,
  }));
}

function emptyPoint(name: string): FiguresPoint {
  const at = new Date(name.length === 10 ? name : `${name}:00Z`).toISOString();
  const zeros = Object.fromEntries(COUNTED.map((what) => [what, 0])) as { [what in Counted]: number };
  return { at, ...zeros, avoided_tokens: null, storage_bytes: null };
}
