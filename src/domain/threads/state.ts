import { badRequest, RelayError } from '../../base/errors.ts';
import { plural } from '../../base/format.ts';
import { isJsonObject, type Json, type JsonObject, joinPath } from '../../base/json.ts';
import { PATCH_OPS, PATCH_WORK, STATE_BYTES } from '../../base/limits.ts';
import { WorkMeter } from '../../base/work-meter.ts';
import { type Metrics, STATE_SCHEMA, type State } from '../../contract/threads.ts';
import { applyPatch, measure, type Patched } from '../../formats/json-patch/apply.ts';
import { asJson, fromJson } from '../records.ts';

/** A state and its size as JSON, so that the size need not be computed again. */
export interface SizedState {
  readonly state: State;
  readonly bytes: number;
}

/** Fields that the relay sets in the state with every version. */
interface Stamp {
  readonly version: number;
  readonly at: string;
  /** Author of the change. Null for imported versions: the relay adds no author to their items. */
  readonly by: string | null;
  readonly metrics: Metrics;
}

/** Returns the empty state of a new thread, version 1. */
export function firstState(threadId: string, at: string, metrics: Metrics): SizedState {
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
  return { state, bytes: jsonBytes(state) };
}

const SPLIT_HINT = 'Split the patch into several, or replace a large list or object as a whole.';

/**
 * Applies a new patch and returns the new state. Throws if the result breaks the schema or is too large; the
 * old state is then unchanged.
 */
export function patchState(before: SizedState, ops: unknown, stamp: Stamp, whole?: WorkMeter): SizedState {
  if (Array.isArray(ops) && ops.length > PATCH_OPS) {
    throw badRequest(`A patch has at most ${PATCH_OPS} operations.`);
  }
  const meter = new WorkMeter(PATCH_WORK, SPLIT_HINT, whole);
  const options = { guard: guardState, bytes: before.bytes, maxBytes: STATE_BYTES, meter };
  const patched = applyPatch(asJson(before.state), ops, options);
  checkTouched(patched);
  const after = stampState(patched, stamp);
  if (after.bytes > STATE_BYTES) throw tooLarge(after);
  return after;
}

/**
 * Applies a patch from the log. The patch was checked when it was written, perhaps by older rules, so it is
 * not checked again.
 */
export function replayPatch(before: SizedState, ops: unknown, stamp: Stamp, meter?: WorkMeter): SizedState {
  return stampState(applyPatch(asJson(before.state), ops, { bytes: before.bytes, meter }), stamp);
}

function checkTouched({ doc, touched }: Patched): void {
  for (const [name, items] of touched) {
    const value = (doc as JsonObject)[name];
    if (items === 'all' || !isListName(name) || !Array.isArray(value)) {
      const problem = checkField(name, value);
      if (problem) throw invalid([name, ...problem.path], problem.what);
      continue;
    }
    let currentItems: Set<Json> | null = null;
    for (const item of items) {
      const problem = checkItem(name, item as Json);
      if (!problem) continue;
      // Ignore an invalid item if a later operation of the patch removed it.
      currentItems ??= new Set(value);
      if (!currentItems.has(item as Json)) continue;
      throw invalid([name, value.lastIndexOf(item as Json), ...problem.path], problem.what);
    }
  }
}

/**
 * Fields with the author or the time of an item, for each list. If a patch adds or changes an item that lacks one of
 * them, the relay sets it.
 */
const SIGNED_FIELDS: { readonly [list in ListName]?: readonly ('at' | 'by')[] } = {
  facts: ['at', 'by'],
  constraints: ['by'],
  decisions: ['at', 'by'],
  last_actions: ['at'],
};

function stampState({ doc, bytes, touched }: Patched, stamp: Stamp): SizedState {
  const before = doc as JsonObject;
  const next: JsonObject = { ...before };
  let size = bytes;
  const set = (field: string, value: Json) => {
    size += jsonBytes(value) - jsonBytes(next[field]!);
    next[field] = value;
  };
  for (const [name, fields] of Object.entries(stamp.by === null ? {} : SIGNED_FIELDS)) {
    const items = touched.get(name);
    const list = next[name];
    if (items === undefined || !Array.isArray(list)) continue;
    let signed: Json[] | null = null;
    for (const index of items === 'all' ? list.keys() : indexesOf(list, items)) {
      const item = list[index];
      const missing = isJsonObject(item) ? fields.filter((field) => !Object.hasOwn(item, field)) : [];
      if (missing.length === 0) continue;
      const full: JsonObject = { ...(item as JsonObject) };
      for (const field of missing) full[field] = field === 'at' ? stamp.at : stamp.by;
      size += jsonBytes(full) - jsonBytes(item);
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

/** Maximum number of items that are looked up one by one. For more items, one pass over the list is faster. */
const FEW_ITEMS = 8;

/** Yields the index of each item in the list. If a patch has copied an item, it has several indexes. */
function* indexesOf(list: Json[], items: ReadonlySet<object>): Generator<number> {
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

function tooLarge({ state, bytes }: SizedState): RelayError {
  const parts = Object.entries(state)
    .map(([name, value]) => ({ name, value, size: jsonBytes(value as Json) }))
    .sort((a, b) => b.size - a.size)
    .slice(0, 3)
    .map(({ name, value, size }) => {
      const count = Array.isArray(value) ? `${plural(value.length, 'item')}, ` : '';
      return `/${name} (${count}${size} bytes)`;
    })
    .join(', ');
  return new RelayError('state_too_large', { size: bytes, limit: STATE_BYTES, parts });
}

const NONE_OPEN = new Set<object>();

/** Returns the size of a value as JSON, in bytes. */
export function jsonBytes(value: unknown): number {
  return measure(value as Json, NONE_OPEN).bytes;
}

export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** Formats a version: `v7`. */
export function versionRef(version: number): string {
  return `v${version}`;
}

/** Returns the state without the fields that the relay sets itself. */
export function withoutRelayFields(state: State): Json {
  const { version: _, updated_at: __, metrics: ___, ...rest } = state;
  return asJson(rest);
}

/** Parses a version: `v7`, `7`, or the entity tag `"v7"`. */
export function parseVersion(ref: string | number): number {
  const match = /^(?:W\/)?"?v?(\d{1,15})"?$/.exec(String(ref).trim());
  if (!match) throw badRequest(`"${String(ref).slice(0, 40)}" is not a version such as v7.`);
  return Number(match[1]);
}

interface Problem {
  /** Path inside the checked value; empty for the value itself. */
  readonly path: readonly (string | number)[];
  readonly what: string;
}

type Check = (value: Json) => string | null;

const nonEmptyString: Check = (value) =>
  typeof value === 'string' && value !== '' ? null : 'must be a non-empty string';
const anyString: Check = (value) => (typeof value === 'string' ? null : 'must be a string');
const anything: Check = () => null;
const timestamp: Check = (value) =>
  typeof value === 'string' && value.length <= 40 && !Number.isNaN(Date.parse(value))
    ? null
    : 'must be a timestamp such as 2026-01-31T12:00:00Z';
const stringList: Check = (value) =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')
    ? null
    : 'must be a list of strings';
const fraction: Check = (value) =>
  typeof value === 'number' && value >= 0 && value <= 1 ? null : 'must be a number from 0 to 1';

interface ItemSchema {
  readonly required: { readonly [field: string]: Check };
  readonly optional: { readonly [field: string]: Check };
}

/** Schemas of the lists of a state. Items may have additional fields. */
export const LISTS = {
  facts: {
    required: { id: nonEmptyString, key: nonEmptyString, value: anything },
    optional: { at: timestamp, by: anyString },
  },
  constraints: {
    required: { id: nonEmptyString, description: nonEmptyString },
    optional: { severity: anyString, by: anyString },
  },
  open_questions: {
    required: { id: nonEmptyString, question: nonEmptyString },
    optional: { status: anyString },
  },
  decisions: {
    required: { id: nonEmptyString, description: nonEmptyString },
    optional: {
      reason_codes: stringList,
      evidence_refs: stringList,
      confidence: fraction,
      at: timestamp,
      by: anyString,
    },
  },
  plan: { required: { id: nonEmptyString, step: nonEmptyString }, optional: { status: anyString } },
  artifacts: { required: { ref: nonEmptyString }, optional: { type: anyString, name: anyString } },
  last_actions: {
    required: { description: nonEmptyString },
    optional: { at: timestamp, result_ref: anyString, question: anyString },
  },
} as const satisfies { [list: string]: ItemSchema };

export type ListName = keyof typeof LISTS;

function isListName(name: string): name is ListName {
  return Object.hasOwn(LISTS, name);
}

/** Returns what is wrong with an item of a list, or null if the item is valid. */
export function checkItem(list: ListName, item: Json): Problem | null {
  if (!isJsonObject(item)) return { path: [], what: 'must be an object' };
  const { required, optional }: ItemSchema = LISTS[list];
  for (const [field, check] of Object.entries(required)) {
    if (!Object.hasOwn(item, field)) return { path: [], what: `needs "${field}"` };
    const what = check(item[field]!);
    if (what) return { path: [field], what };
  }
  for (const [field, check] of Object.entries(optional)) {
    const what = Object.hasOwn(item, field) ? check(item[field]!) : null;
    if (what) return { path: [field], what };
  }
  return null;
}

/** Returns what is wrong with a whole field of a state, or null if the field is valid. */
export function checkField(name: string, value: Json | undefined): Problem | null {
  if (name === 'session_summary') {
    return value === undefined || typeof value === 'string' ? null : { path: [], what: 'must be a string' };
  }
  if (!isListName(name))
    return RELAY_FIELDS.has(name) ? null : { path: [], what: 'is not a field of the state' };
  if (!Array.isArray(value)) return { path: [], what: 'must be a list' };
  for (const [i, item] of value.entries()) {
    const problem = checkItem(name, item);
    if (problem) return { path: [i, ...problem.path], what: problem.what };
  }
  return null;
}

/** Fields that the relay sets itself. */
export const RELAY_FIELDS: ReadonlySet<string> = new Set([
  '$schema',
  'version',
  'thread_id',
  'updated_at',
  'metrics',
] satisfies (keyof State)[]);

/** Returns why a path cannot be patched, or undefined if it can be patched. */
function guardState(path: readonly string[]): string | undefined {
  if (path.length === 0) return 'the state as a whole cannot be replaced; patch its fields';
  return RELAY_FIELDS.has(path[0]!) ? `"${path[0]}" is set by the relay and cannot be patched` : undefined;
}
