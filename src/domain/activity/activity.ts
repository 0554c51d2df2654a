import { badRequest } from '../../base/errors.ts';
import type { Activity, activity, FiguresReport, SpendingReport } from '../../contract/activity.ts';
import { reaches } from '../../contract/authorize.ts';
import type { Caller, Scope } from '../../contract/caller.ts';
import type { Entry, Logs } from '../../kernel/logs.ts';
import type { Deps } from '../deps.ts';
import { checkCount } from '../names.ts';
import { entriesBehind, fromJson } from '../records.ts';
import type { Serves } from '../relay-binding.ts';
import { type ActivityEntry, type ActivityLog, activityStream, readFigures } from './activity-log.ts';

const PAGE = 50;
const PAGE_MAX = 200;
const HOURS_MAX = 744;
const DAYS_MAX = 31;
/**
 * Maximum number of log entries that are read for one page. A page may be short if a filter is set or if the
 * caller may see only few events.
 */
const MAX_ENTRIES_READ = 1_000;

const METHOD =
  'Tokens saved: what pasting everything into prompts and hand-offs would have cost, minus what was sent. ' +
  'Reads outside prompts are not included; see the token ledger of a thread.';

/** Activity of a tenant. A caller gets only the events that it may see. */
export class Activities implements Serves<typeof activity> {
  readonly #deps: Pick<Deps, 'engine' | 'env'>;
  readonly #log: ActivityLog;

  readonly #prices: SpendingReport['prices'];

  constructor(
    deps: Pick<Deps, 'engine' | 'env'>,
    log: ActivityLog,
    prices: SpendingReport['prices'] = { models: {} },
  ) {
    this.#deps = deps;
    this.#log = log;
    this.#prices = prices;
  }

  async list(caller: Caller, o: { after?: string; limit?: number; kind?: Activity['kind'] } = {}) {
    const limit = checkCount('limit', o.limit ?? PAGE, PAGE_MAX);
    await this.#log.flush();
    const { logs } = this.#deps.engine;
    const stream = activityStream(caller.tenant);
    const { first, last } = await logs.info(stream);
    const before = o.after === undefined ? { seq: last + 1, index: 0 } : placeOf(o.after);
    const activities: Activity[] = [];
    const newest = idOf(last + 1, 0);
    let entriesRead = 0;
    let high = Math.min(last, before.seq);
    for (let span = PAGE; high >= first && last > 0; span *= 2) {
      const low = Math.max(first, high - span + 1);
      for (const entry of (await between(logs, stream, low, high)).reverse()) {
        for (const item of toActivities(entry).reverse()) {
          const { seq, index } = placeOf(item.id);
          if (seq === before.seq && index >= before.index) continue;
          if (!isVisible(caller, item) || (o.kind !== undefined && item.kind !== o.kind)) continue;
          if (activities.length === limit) return { activities, next: activities.at(-1)!.id, newest };
          activities.push(item);
        }
        if (++entriesRead === MAX_ENTRIES_READ) return { activities, next: idOf(entry.seq, 0), newest };
      }
      high = low - 1;
    }
    return { activities, newest };
  }

  async *watch(caller: Caller, o: Parameters<Serves<typeof activity>['watch']>[1]): AsyncGenerator<Activity> {
    const { logs } = this.#deps.engine;
    const stream = activityStream(caller.tenant);
    const place = o.after === undefined ? null : placeOf(o.after);
    const after = place ? place.seq - 1 : (await logs.info(stream)).last;
    o.state?.('live');
    for await (const entry of logs.subscribe(stream, { after: Math.max(0, after), signal: o.signal })) {
      if (entry.gap && place && entry.seq > place.seq) yield gapBefore(entry);
      for (const item of toActivities(entry)) {
        const { seq, index } = placeOf(item.id);
        if (place?.seq === seq && index <= place.index) continue;
        if (isVisible(caller, item)) yield item;
      }
    }
  }

  async figures(caller: Caller, o: { hours?: number; step?: FiguresReport['step'] } = {}) {
    const hours = checkCount('hours', o.hours ?? 24, HOURS_MAX);
    const step = o.step ?? 'hour';
    await this.#log.flush();
    const points = await readFigures(this.#deps, caller.tenant, hours, step);
    return { step, method: METHOD, points };
  }

  async spending(caller: Caller, o: { days?: number } = {}): Promise<SpendingReport> {
    const days = checkCount('days', o.days ?? 7, DAYS_MAX);
    const rows = reaches(caller, {}) ? await this.#log.spending.rows(caller.tenant, days) : [];
    return { rows, prices: this.#prices };
  }
}

/**
 * Returns the items of a log entry in their order. If items were left out, the last element says how many.
 */
function toActivities({ seq, at, data }: Entry): Activity[] {
  const { items, left_out } = fromJson<ActivityEntry>(data);
  const listed = items.map((item, index) => ({
    ...item,
    id: idOf(seq, index + 1),
    at: new Date(item.at).toISOString(),
  }));
  if (left_out === undefined) return listed;
  const id = idOf(seq, items.length + 1);
  return [...listed, { id, at: new Date(at).toISOString(), kind: 'left_out', by: 'relay', count: left_out }];
}

function gapBefore({ seq, at }: Entry): Activity {
  return { id: idOf(seq, 0), at: new Date(at).toISOString(), kind: 'gap', by: 'relay' };
}

const idOf = (seq: number, index: number) => `${seq}-${index}`;

function placeOf(id: string): { seq: number; index: number } {
  const match = /^(\d{1,15})-(\d{1,6})$/.exec(id);
  if (match) return { seq: Number(match[1]), index: Number(match[2]) };
  throw badRequest(`"${id.slice(0, 40)}" is not the id of an activity.`);
}

/**
 * Reads the entries with a sequence from `low` to `high`. The range may contain few entries: in some engines
 * all logs share one numbering, so the log of a quiet tenant has holes.
 */
async function between(logs: Logs, stream: string, low: number, high: number): Promise<Entry[]> {
  const found: Entry[] = [];
  for await (const entry of entriesBehind(logs, stream, low - 1)) {
    if (entry.seq > high) break;
    found.push(entry);
  }
  return found;
}

/**
 * Maps the part of an event kind before the dot to the scope that an API key needs, in addition to `activity`, to see
 * the event.
 */
const NEEDS: { readonly [subject: string]: Scope } = {
  thread: 'threads',
  artifact: 'threads',
  file: 'files',
  pipeline: 'threads',
  step: 'threads',
  task: 'tasks',
  agent: 'tasks',
  key: 'admin',
  share: 'admin',
};

/**
 * Returns whether a caller may see an event. The event of a pointer contains its id, and the id may be
 * enough to pull the payload. So an event of a pointer on a channel needs the scope `subscribe`, and an
 * event of a pointer without a channel needs the scope `pull`. An API key with a channel prefix sees only
 * `left_out`, `gap` and events on its channels, because an event does not say which key caused it.
 */
function isVisible(caller: Caller, { kind, channel }: Activity): boolean {
  const subject = kind.split('.')[0]!;
  const scope = NEEDS[subject] ?? (subject === 'pointer' && channel === undefined ? 'pull' : 'subscribe');
  if (!caller.scopes.includes(scope)) return false;
  return reaches(caller, { channel }) || subject === 'left_out' || subject === 'gap';
}
