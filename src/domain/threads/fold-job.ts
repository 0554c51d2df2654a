import { isRelayError, RelayError } from '../../base/errors.ts';
import { sha256Hex } from '../../base/hash.ts';
import { type Json, jsonEqual } from '../../base/json.ts';
import type { WorkMeter } from '../../base/work-meter.ts';
import type { BlameLine, State } from '../../contract/threads.ts';
import type { PatchOp } from '../../formats/json-patch/apply.ts';
import { diffJson } from '../../formats/json-patch/diff.ts';
import { eventBytes, makesVersion, type StoredEvent, toWire } from './event.ts';
import { advance, type MutableHead, stateAfter } from './fold.ts';
import { RELAY_FIELDS, withoutRelayFields } from './state.ts';

/** Results of the computations over a thread's log, by kind (see `FoldJob`). */
export interface FoldAnswers {
  /** State at each version. The versions are in ascending order. */
  readonly states: State[];
  /** JSON Patch that turns the state at the first version into the state at the second. */
  readonly diff: PatchOp[];
  /** SHA-256 of the state as JSON. */
  readonly digest: string;
  readonly blame: BlameLine[];
  /**
   * Summary of the events of a bundle. Each event must pass the checks for new patches. All events are used,
   * and `versions` is ignored.
   */
  readonly check: CheckedEvents;
}

export type FoldKind = keyof FoldAnswers;

/**
 * A computation over the events of a thread's log. It can take long, so it may run in a worker thread. `start` is the
 * head before the first event. The computation changes it in place.
 */
export interface FoldJob<K extends FoldKind = FoldKind> {
  readonly kind: K;
  readonly start: MutableHead;
  readonly versions: readonly number[];
}

export type Events = AsyncIterable<StoredEvent> | Iterable<StoredEvent>;

/**
 * Loads a computation and the events that it needs. Loading parses events on the event loop. So a server loads one
 * computation at a time.
 */
export type LoadFold<K extends FoldKind = FoldKind> = () => Promise<{
  readonly job: FoldJob<K>;
  readonly events: Events;
}>;

const FOLDS: {
  readonly [K in FoldKind]: (job: FoldJob, events: Events, meter: WorkMeter) => Promise<FoldAnswers[K]>;
} = {
  states: statesAt,
  async diff({ start, versions: [from = 0, to = 0] }, events, meter) {
    const versions = [Math.min(from, to), Math.max(from, to)];
    const [low, high] = await statesAt({ kind: 'states', start, versions }, events, meter);
    const [before, after] = from <= to ? [low!, high!] : [high!, low!];
    return diffJson(withoutRelayFields(before), withoutRelayFields(after));
  },
  async digest(job, events, meter) {
    const [state] = await statesAt(job, events, meter);
    return sha256Hex(JSON.stringify(state));
  },
  blame: ({ start, versions }, events, meter) =>
    blameFold(start, versions[0]!, metered(events, meter), meter),
  async check({ start: head }, events, meter) {
    let bytes = 0;
    for await (const event of metered(events, meter)) {
      advanceChecked(head, event, meter);
      bytes += eventBytes(event);
    }
    const { version, count, refs } = head;
    const stateHash = await sha256Hex(serializeState(head.state));
    return { version, count, refs, stored: head.totals.stored, eventBytes: bytes, stateHash };
  },
};

/** Computes the result of a `FoldJob` from the events. `meter` limits the work. */
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
  const collectStates = () => {
    while (found.length < versions.length && versions[found.length] === head.version) found.push(head.state);
  };
  collectStates();
  if (found.length === versions.length) return found;
  for await (const event of metered(events, meter)) {
    advance(head, head.seq + 1, event, { meter });
    collectStates();
    if (found.length === versions.length) break;
  }
  return found;
}

/** Yields the events and spends one step of the meter per byte of an event. */
async function* metered(events: Events, meter: WorkMeter): AsyncGenerator<StoredEvent> {
  for await (const event of events) {
    meter.spend(eventBytes(event));
    yield event;
  }
}

type Mark = Omit<BlameLine, 'path'>;

/**
 * Applies the events in order and records for each item of the state the version that last changed it. A
 * patch copies only what it changes. So an unchanged item is the identical object before and after the patch,
 * even if its index has changed.
 */
async function blameFold(
  head: MutableHead,
  version: number,
  events: Events,
  meter: WorkMeter,
): Promise<BlameLine[]> {
  const fields = new Map<string, Mark>();
  const items = new WeakMap<object, Mark>();
  for await (const event of events) {
    const before = head.state as unknown as Fields;
    advance(head, head.seq + 1, event, { meter });
    if (!makesVersion(event)) continue;
    const mark = blameMark(head.id, head.count, head.version, event);
    for (const [field, value] of Object.entries(head.state as unknown as Fields)) {
      const old = before[field];
      // If a write sets equal data, the item did not change, so its earlier author stays.
      if (value === old || RELAY_FIELDS.has(field) || (!Array.isArray(value) && jsonEqual(value, old)))
        continue;
      fields.set(field, mark);
      if (!Array.isArray(value)) continue;
      meter.spend(value.length);
      const oldItems = Array.isArray(old) ? old : [];
      // Fast path: most items are unchanged at the same index. `blameFold` spends most of its time in this loop.
      for (let index = 0; index < value.length; index++) {
        const item = value[index]!;
        const oldItem = oldItems[index] ?? null;
        if (item === oldItem || !isObject(item) || items.has(item)) continue;
        const isRewritten = isObject(oldItem) && hasSameContent(item, oldItem);
        items.set(item, (isRewritten && items.get(oldItem)) || mark);
      }
    }
    if (head.version === version) break;
  }
  return Object.entries(head.state as unknown as Fields).flatMap(([field, value]): BlameLine[] => {
    const fieldMark = fields.get(field);
    if (!fieldMark || RELAY_FIELDS.has(field)) return [];
    if (!Array.isArray(value)) return [{ path: `/${field}`, ...fieldMark }];
    return value.map((item, index) => ({
      path: `/${field}/${index}`,
      ...((isObject(item) && items.get(item)) || fieldMark),
    }));
  });
}

type Fields = { readonly [field: string]: Json };

/** Compares two items without the time and the author, which the relay sets with every write. */
function hasSameContent(a: object, b: object): boolean {
  return jsonEqual({ ...a, at: null, by: null }, { ...b, at: null, by: null });
}

function isObject(value: Json): value is Extract<Json, object> {
  return typeof value === 'object' && value !== null;
}

/** How an event changes the state, by type. Events of all other types are patches or reverts. */
const HOW: { readonly [type: string]: BlameLine['how'] } = {
  'artifact.created': 'artifact',
  'checkpoint.created': 'compaction',
};

function blameMark(thread: string, count: number, version: number, event: StoredEvent): Mark {
  const { type, payload, legacy } = event;
  const { id, timestamp } = toWire(thread, count, event);
  const { reverted_to: reverted, ref } = payload;
  const how = legacy ? 'import' : (HOW[type] ?? (reverted === undefined ? 'patch' : 'revert'));
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

/** Returns the error for an invalid bundle. */
export function badBundle(what: string): RelayError {
  return new RelayError('bad_bundle', { what });
}

/** Serializes a state as in a bundle. */
export const serializeState = (state: State) => `${JSON.stringify(state, null, 2)}\n`;
/** Summary of the events of a bundle. */
export interface CheckedEvents {
  readonly version: number;
  readonly count: number;
  readonly refs: readonly string[];
  /** Number of bytes that the thread will use. */
  readonly stored: number;
  /** Number of bytes of the events alone. */
  readonly eventBytes: number;
  /** SHA-256 of the state as serialized in a bundle. */
  readonly stateHash: string;
}

/**
 * Applies an event of a bundle to the head, in place. The event must pass the checks for new patches. So an event that
 * no client could have sent here is rejected.
 */
export function advanceChecked(head: MutableHead, event: StoredEvent, meter?: WorkMeter): void {
  if (event.type === 'thread.created' && head.count > 0) throw badBundle('it has two thread.created events');
  try {
    advance(head, head.seq + 1, event, { ready: stateAfter(head, event, { meter }) });
  } catch (error) {
    if (!isRelayError(error)) throw error;
    if (error.code === 'too_costly') throw error;
    if (error.code === 'store_damaged') throw badBundle('its version numbers have gaps');
    throw badBundle(`event ${head.count + 1} is not possible: ${error.message}`);
  }
}
