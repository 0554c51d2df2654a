import type { Json } from '../../base/json.ts';
import type { BlameLine } from '../../contract/threads/answers.ts';
import { makesVersion, type StoredEvent, toWire } from './event.ts';
import { advance, emptyHead, type MutableHead } from './fold.ts';
import { parseVersion } from './state.ts';
import type { ThreadLog, ThreadVerb } from './thread-log.ts';
import { checkVersions } from './threads.ts';

/** What the relay writes with every version itself. */
const OWN: ReadonlySet<string> = new Set(['$schema', 'version', 'thread_id', 'updated_at', 'metrics']);

type Mark = Omit<BlameLine, 'path'>;

/** A fold of the log up to a version, with the version that each field of the state comes from. */
interface Fold {
  readonly head: MutableHead;
  readonly fields: ReadonlyMap<string, Mark>;
}

/** What is kept of a thread that somebody looks at, so that the next version is not folded from the beginning. */
interface Kept {
  readonly created: number;
  /** By version, rising, with about `every` versions from one to the next. */
  folds: Fold[];
  every: number;
  readonly items: WeakMap<object, Mark>;
}

const FIRST_EVERY = 200;
const MOST_FOLDS = 64;
const MOST_THREADS = 8;
/** The least recently used thread first. */
const kept = new WeakMap<ThreadLog, Map<string, Kept>>();

/**
 * Folds the log and marks each item with the version in which it first is what it is. States share what a patch does not
 * touch, so an item is the same one for as long as nobody changes it, wherever it stands.
 */
export const blameState: ThreadVerb<'blame'> = async (log, caller, id, o = {}) => {
  const newest = await log.head(caller, id);
  const version = o.at === undefined ? newest.version : parseVersion(o.at);
  checkVersions(newest, [version]);
  const { created } = await log.meta(caller, newest.id);
  const about = keptOf(log, newest.id, created);
  const near = about.folds.findLast(({ head }) => head.version <= version);
  const { head, fields } = near
    ? copyOf(near)
    : { head: emptyHead(newest.id), fields: new Map<string, Mark>() };
  for await (const { seq, event } of head.version === version ? [] : log.heads.events(newest.id, head.seq)) {
    const before = head.state as unknown as Fields;
    advance(head, seq, event);
    if (!makesVersion(event)) continue;
    const mark = markOf(newest.id, head.count, head.version, event);
    for (const [field, value] of Object.entries(head.state as unknown as Fields)) {
      const old = before[field];
      if (value === old || OWN.has(field)) continue;
      fields.set(field, mark);
      if (!Array.isArray(value)) continue;
      const were = Array.isArray(old) ? old : [];
      // Most of a list is what it was, where it was; this is the part of a fold that takes the longest.
      for (let index = 0; index < value.length; index++) {
        const item = value[index]!;
        if (item !== were[index] && isObject(item) && !about.items.has(item)) about.items.set(item, mark);
      }
    }
    keepFold(about, { head, fields });
    if (head.version === version) break;
  }
  const lines = Object.entries(head.state as unknown as Fields).flatMap(([field, value]): BlameLine[] => {
    const whole = fields.get(field);
    if (!whole || OWN.has(field)) return [];
    if (!Array.isArray(value)) return [{ path: `/${field}`, ...whole }];
    return value.map((item, index) => ({
      path: `/${field}/${index}`,
      ...((isObject(item) && about.items.get(item)) || whole),
    }));
  });
  return { thread_id: newest.id, version, lines };
};

function keptOf(log: ThreadLog, id: string, created: number): Kept {
  const threads = kept.get(log) ?? new Map<string, Kept>();
  kept.set(log, threads);
  const known = threads.get(id);
  // Another thread may have come to the id since.
  const about =
    known?.created === created ? known : { created, folds: [], every: FIRST_EVERY, items: new WeakMap() };
  threads.delete(id);
  threads.set(id, about);
  if (threads.size > MOST_THREADS) threads.delete(threads.keys().next().value!);
  return about;
}

function keepFold(about: Kept, fold: Fold): void {
  const last = about.folds.at(-1)?.head.version ?? 0;
  if (fold.head.version < last + about.every) return;
  about.folds.push(copyOf(fold));
  if (about.folds.length <= MOST_FOLDS) return;
  about.folds = about.folds.filter((_, at) => at % 2 === 1);
  about.every *= 2;
}

/** Going on from it changes nothing of what is kept. Of refs and keys blame knows nothing. */
function copyOf({ head, fields }: Fold): { head: MutableHead; fields: Map<string, Mark> } {
  return { head: { ...head, refs: [], keys: new Map() }, fields: new Map(fields) };
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
