import { badRequest, RelayError } from '../../base/errors.ts';
import { isJsonObject, type Json, type JsonObject, joinPath } from '../../base/json.ts';
import { PATCH_OPS, PATCH_WORK, STATE_BYTES } from '../../base/limits.ts';
import { WorkMeter } from '../../base/work-meter.ts';
import { type Metrics, STATE_SCHEMA, type State } from '../../contract/threads/state.ts';
import { applyPatch, type Patched } from '../../formats/json-patch/apply.ts';
import { measure } from '../../formats/json-patch/measure.ts';
import { asJson, fromJson } from '../records.ts';
import { checkField, checkItem, guardState, isListName, type ListName } from './state-schema.ts';

/** A state with the bytes it takes as JSON, so that nobody has to write it out to know. */
export interface Sized {
  readonly state: State;
  readonly bytes: number;
}

/** What the relay writes into a state with every version. */
export interface Stamp {
  readonly version: number;
  readonly at: string;
  /** Null for what was taken over from elsewhere: nobody signs it here. */
  readonly by: string | null;
  readonly metrics: Metrics;
}

export function firstState(threadId: string, at: string, metrics: Metrics): Sized {
  const state: State = {
    $schema: STATE_SCHEMA,
    version: 1,
    thread_id: threadId,
    updated_at: at,
    facts: [],
    constraints: [],
    open_questions: [],
    decisions: [],
    plan: [],
    artifacts: [],
    last_actions: [],
    metrics,
  };
  return { state, bytes: bytesOf(state) };
}

const SPLIT =
  'Split the patch into several, or replace a large list or object as a whole instead of in many places.';

/** Applies a patch that somebody sends: refuses what breaks the schema or the size, and changes nothing then. */
export function patchState(before: Sized, ops: unknown, stamp: Stamp, whole?: WorkMeter): Sized {
  if (Array.isArray(ops) && ops.length > PATCH_OPS) {
    throw badRequest(`A patch has at most ${PATCH_OPS} operations.`);
  }
  const meter = new WorkMeter(PATCH_WORK, SPLIT, whole);
  const options = { guard: guardState, bytes: before.bytes, maxBytes: STATE_BYTES, meter };
  const patched = applyPatch(asJson(before.state), ops, options);
  checkTouched(patched);
  const after = finish(patched, stamp);
  if (after.bytes > STATE_BYTES) throw tooLarge(after);
  return after;
}

/** Applies a patch that is in the log already: it was checked when it came, perhaps by other rules. */
export function replayPatch(before: Sized, ops: unknown, stamp: Stamp, meter?: WorkMeter): Sized {
  return finish(applyPatch(asJson(before.state), ops, { bytes: before.bytes, meter }), stamp);
}

function checkTouched({ doc, touched }: Patched): void {
  for (const [name, items] of touched) {
    const value = (doc as JsonObject)[name];
    if (items === 'all' || !isListName(name) || !Array.isArray(value)) {
      const problem = checkField(name, value);
      if (problem) throw invalid([name, ...problem.path], problem.what);
      continue;
    }
    let there: Set<Json> | null = null;
    for (const item of items) {
      const problem = checkItem(name, item as Json);
      if (!problem) continue;
      // What has been taken out again by a later operation may be as it likes.
      there ??= new Set(value);
      if (!there.has(item as Json)) continue;
      throw invalid([name, value.lastIndexOf(item as Json), ...problem.path], problem.what);
    }
  }
}

/** Who said it and when, on every item that has a place for it and was not given one. */
const SIGNED: { readonly [list in ListName]?: readonly ('at' | 'by')[] } = {
  facts: ['at', 'by'],
  constraints: ['by'],
  decisions: ['at', 'by'],
  last_actions: ['at'],
};

function finish({ doc, bytes, touched }: Patched, stamp: Stamp): Sized {
  const before = doc as JsonObject;
  const next: JsonObject = { ...before };
  let size = bytes;
  const set = (field: string, value: Json) => {
    size += bytesOf(value) - bytesOf(next[field]!);
    next[field] = value;
  };
  for (const [name, fields] of Object.entries(stamp.by === null ? {} : SIGNED)) {
    const items = touched.get(name);
    const list = next[name];
    if (items === undefined || !Array.isArray(list)) continue;
    let signed: Json[] | null = null;
    for (const index of items === 'all' ? list.keys() : places(list, items)) {
      const item = list[index];
      const missing = isJsonObject(item) ? fields.filter((field) => !Object.hasOwn(item, field)) : [];
      if (missing.length === 0) continue;
      const full: JsonObject = { ...(item as JsonObject) };
      for (const field of missing) full[field] = field === 'at' ? stamp.at : stamp.by;
      size += bytesOf(full) - bytesOf(item);
      signed ??= list.slice();
      signed[index] = full;
    }
    if (signed) next[name] = signed;
  }
  set('version', stamp.version);
  set('updated_at', stamp.at);
  set('metrics', asJson(stamp.metrics));
  return { state: fromJson<State>(next), bytes: size };
}

/** More items than this are looked for in one pass over the list. */
const FEW_ITEMS = 8;

/** Where the items stand; one that was copied stands in several places. */
function* places(list: Json[], items: ReadonlySet<object>): Generator<number> {
  if (items.size > FEW_ITEMS) {
    for (const [index, item] of list.entries()) if (items.has(item as object)) yield index;
    return;
  }
  for (const item of items) {
    let index = list.lastIndexOf(item as Json);
    while (index >= 0) {
      yield index;
      index = index === 0 ? -1 : list.lastIndexOf(item as Json, index - 1);
    }
  }
}

function invalid(path: readonly (string | number)[], what: string): RelayError {
  return new RelayError('state_invalid', { path: joinPath(path), what });
}

function tooLarge({ state, bytes }: Sized): RelayError {
  const parts = Object.entries(state)
    .map(([name, value]) => ({ name, value, size: bytesOf(value as Json) }))
    .sort((a, b) => b.size - a.size)
    .slice(0, 3)
    .map(({ name, value, size }) => {
      const count = Array.isArray(value) ? `${value.length} items, ` : '';
      return `/${name} (${count}${size} bytes)`;
    })
    .join(', ');
  return new RelayError('state_too_large', { size: bytes, limit: STATE_BYTES, parts });
}

const NOTHING_OPEN = new Set<object>();

export function bytesOf(value: unknown): number {
  return measure(value as Json, NOTHING_OPEN).bytes;
}

export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

export function versionRef(version: number): string {
  return `v${version}`;
}

/** A state without what the relay keeps itself. */
export function comparable(state: State): Json {
  const { version: _, updated_at: __, metrics: ___, ...rest } = state;
  return asJson(rest);
}

/** `v7`, `7`, and `"v7"` as an entity tag. */
export function parseVersion(ref: string | number): number {
  const match = /^(?:W\/)?"?v?(\d{1,15})"?$/.exec(String(ref).trim());
  if (!match) throw badRequest(`"${String(ref).slice(0, 40)}" is not a version such as v7.`);
  return Number(match[1]);
}
