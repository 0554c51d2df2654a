import { isRelayError, RelayError } from '../../base/errors.ts';
import { sha256Hex } from '../../base/hash.ts';
import type { Json } from '../../base/json.ts';
import type { WorkMeter } from '../../base/work-meter.ts';
import type { BlameLine, State } from '../../contract/threads.ts';
import type { PatchOp } from '../../formats/json-patch/apply.ts';
import { diffJson } from '../../formats/json-patch/diff.ts';
import { asJson } from '../records.ts';
import { makesVersion, type StoredEvent, toWire } from './event.ts';
import { advance, type MutableHead, stateAfter } from './fold.ts';
import { bytesOf, comparable, KEPT } from './state.ts';

/** What each kind of fold answers. */
export interface FoldAnswers {
  /** The state at each of the versions, which are in rising order. */
  readonly states: State[];
  /** The operations that lead from the state at the first version to the state at the second. */
  readonly diff: PatchOp[];
  /** SHA-256 of the state as JSON. */
  readonly digest: string;
  readonly blame: BlameLine[];
  /** Events of a bundle, by the rules for patches that are sent. There are no versions then: all events are taken in. */
  readonly check: CheckedEvents;
}

export type FoldKind = keyof FoldAnswers;

/**
 * A fold of a thread's log, which can take long: its events may be many, and each may change much. It can be sent to another thread of
 * the process. `start` is what comes before the first event; the fold changes it.
 */
export interface FoldJob<K extends FoldKind = FoldKind> {
  readonly kind: K;
  readonly start: MutableHead;
  readonly versions: readonly number[];
}

type Events = AsyncIterable<StoredEvent>;

const FOLDS: {
  readonly [K in FoldKind]: (job: FoldJob, events: Events, meter: WorkMeter) => Promise<FoldAnswers[K]>;
} = {
  states: statesAt,
  async diff({ start, versions: [from = 0, to = 0] }, events, meter) {
    const versions = [Math.min(from, to), Math.max(from, to)];
    const [low, high] = await statesAt({ kind: 'states', start, versions }, events, meter);
    const [before, after] = from <= to ? [low!, high!] : [high!, low!];
    return diffJson(comparable(before), comparable(after));
  },
  async digest(job, events, meter) {
    const [state] = await statesAt(job, events, meter);
    return sha256Hex(JSON.stringify(state));
  },
  blame: ({ start, versions }, events, meter) =>
    blameFold(start, versions[0]!, metered(events, meter), meter),
  async check({ start: head }, events, meter) {
    let eventBytes = 0;
    for await (const event of metered(events, meter)) {
      advanceChecked(head, event, meter);
      eventBytes += bytesOf(asJson(event));
    }
    const { version, count, refs } = head;
    const stateHash = await sha256Hex(bundledState(head.state));
    return { version, count, refs, stored: head.totals.stored, eventBytes, stateHash };
  },
};

export function runFold<K extends FoldKind>(
  job: FoldJob<K>,
  events: Events,
  meter: WorkMeter,
): Promise<FoldAnswers[K]> {
  return FOLDS[job.kind](job, events, meter);
}

async function statesAt(
  { start: head, versions }: FoldJob,
  events: Events,
  meter: WorkMeter,
): Promise<State[]> {
  const found: State[] = [];
  const take = () => {
    while (found.length < versions.length && versions[found.length] === head.version) found.push(head.state);
  };
  take();
  if (found.length === versions.length) return found;
  for await (const event of metered(events, meter)) {
    advance(head, head.seq + 1, event, { meter });
    take();
    if (found.length === versions.length) break;
  }
  return found;
}

/** Reading an event takes about a step for each of its bytes. */
async function* metered(events: Events, meter: WorkMeter): Events {
  for await (const event of events) {
    meter.spend(bytesOf(asJson(event)));
    yield event;
  }
}

type Mark = Omit<BlameLine, 'path'>;

/**
 * Folds the log and marks each item with the version in which it first is what it is. States share what a patch does not
 * touch, so an item is the same one for as long as nobody changes it, wherever it stands.
 */
async function blameFold(
  head: MutableHead,
  version: number,
  events: AsyncIterable<StoredEvent>,
  meter: WorkMeter,
): Promise<BlameLine[]> {
  const fields = new Map<string, Mark>();
  const items = new WeakMap<object, Mark>();
  for await (const event of events) {
    const before = head.state as unknown as Fields;
    advance(head, head.seq + 1, event, { meter });
    if (!makesVersion(event)) continue;
    const mark = markOf(head.id, head.count, head.version, event);
    for (const [field, value] of Object.entries(head.state as unknown as Fields)) {
      const old = before[field];
      if (value === old || KEPT.has(field)) continue;
      fields.set(field, mark);
      if (!Array.isArray(value)) continue;
      meter.spend(value.length);
      const were = Array.isArray(old) ? old : [];
      // Most of a list is what it was, where it was; this is the part of a fold that takes the longest.
      for (let index = 0; index < value.length; index++) {
        const item = value[index]!;
        if (item !== were[index] && isObject(item) && !items.has(item)) items.set(item, mark);
      }
    }
    if (head.version === version) break;
  }
  return Object.entries(head.state as unknown as Fields).flatMap(([field, value]): BlameLine[] => {
    const whole = fields.get(field);
    if (!whole || KEPT.has(field)) return [];
    if (!Array.isArray(value)) return [{ path: `/${field}`, ...whole }];
    return value.map((item, index) => ({
      path: `/${field}/${index}`,
      ...((isObject(item) && items.get(item)) || whole),
    }));
  });
}

type Fields = { readonly [field: string]: Json };

function isObject(value: Json): value is Extract<Json, object> {
  return typeof value === 'object' && value !== null;
}

function markOf(thread: string, count: number, version: number, event: StoredEvent): Mark {
  const { type, payload, legacy } = event;
  const { id, timestamp } = toWire(thread, count, event);
  const { reverted_to: reverted, ref } = payload;
  const how = legacy
    ? 'import'
    : type === 'artifact.created'
      ? 'artifact'
      : type === 'checkpoint.created'
        ? 'compaction'
        : reverted === undefined
          ? 'patch'
          : 'revert';
  const from = how === 'artifact' ? ref : reverted;
  return {
    version,
    at: timestamp,
    by: typeof payload.by === 'string' && !legacy ? payload.by : null,
    how,
    event: id,
    ...(typeof from === 'string' ? { from } : {}),
  };
}

export function badBundle(what: string): RelayError {
  return new RelayError('bad_bundle', { what });
}

/** A state as a bundle writes it. */
export const bundledState = (state: State) => `${JSON.stringify(state, null, 2)}\n`;
/** What the events of a bundle amount to. */
export interface CheckedEvents {
  readonly version: number;
  readonly count: number;
  readonly refs: readonly string[];
  /** Bytes that the thread will take up, and those of its events alone. */
  readonly stored: number;
  readonly eventBytes: number;
  /** SHA-256 of the state as a bundle writes it. */
  readonly stateHash: string;
}

/**
 * Takes in an event of somebody else's by the rules of a patch that is sent: what it may not do here, it did not do
 * there. The head is changed in place.
 */
export function advanceChecked(head: MutableHead, event: StoredEvent, meter?: WorkMeter): void {
  if (event.type === 'thread.created' && head.count > 0) throw badBundle('it begins twice');
  try {
    advance(head, head.seq + 1, event, { ready: stateAfter(head, event, { meter }) });
  } catch (error) {
    if (!isRelayError(error)) throw error;
    if (error.code === 'too_costly') throw error;
    if (error.code === 'store_damaged') throw badBundle('its versions have gaps');
    throw badBundle(`event ${head.count + 1} is not possible: ${error.message}`);
  }
}
