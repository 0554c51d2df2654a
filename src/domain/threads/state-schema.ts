import { isJsonObject, type Json } from '../../base/json.ts';
import type { State } from '../../contract/threads/state.ts';

export interface Problem {
  /** Segments behind the list's item; empty for the item itself. */
  readonly path: readonly (string | number)[];
  readonly what: string;
}

type Check = (value: Json) => string | null;

const text: Check = (value) =>
  typeof value === 'string' && value !== '' ? null : 'must be a text that is not empty';
const words: Check = (value) => (typeof value === 'string' ? null : 'must be a text');
const anything: Check = () => null;
const moment: Check = (value) =>
  typeof value === 'string' && value.length <= 40 && !Number.isNaN(Date.parse(value))
    ? null
    : 'must be a moment in time, as in 2026-01-31T12:00:00Z';
const texts: Check = (value) =>
  Array.isArray(value) && value.every((item) => typeof item === 'string') ? null : 'must be a list of texts';
const share: Check = (value) =>
  typeof value === 'number' && value >= 0 && value <= 1 ? null : 'must be a number from 0 to 1';

interface ItemSchema {
  readonly required: { readonly [field: string]: Check };
  readonly optional: { readonly [field: string]: Check };
}

/** The lists of a state. Items may have further fields of their own. */
export const LISTS = {
  facts: { required: { id: text, key: text, value: anything }, optional: { at: moment, by: words } },
  constraints: { required: { id: text, description: text }, optional: { severity: words, by: words } },
  open_questions: { required: { id: text, question: text }, optional: { status: words } },
  decisions: {
    required: { id: text, description: text },
    optional: { reason_codes: texts, evidence_refs: texts, confidence: share, at: moment, by: words },
  },
  plan: { required: { id: text, step: text }, optional: { status: words } },
  artifacts: { required: { ref: text }, optional: { type: words, name: words } },
  last_actions: { required: { description: text }, optional: { at: moment, result_ref: words } },
} as const satisfies { [list: string]: ItemSchema };

export type ListName = keyof typeof LISTS;

export function isListName(name: string): name is ListName {
  return Object.hasOwn(LISTS, name);
}

/** What is wrong with an item of a list; null when nothing is. */
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

/** What is wrong with one field of a state, looked at as a whole. */
export function checkField(name: string, value: Json | undefined): Problem | null {
  if (name === 'session_summary') {
    return value === undefined || typeof value === 'string' ? null : { path: [], what: 'must be a text' };
  }
  if (!isListName(name)) return KEPT.has(name) ? null : { path: [], what: 'is not a field of a state' };
  if (!Array.isArray(value)) return { path: [], what: 'must be a list' };
  for (const [i, item] of value.entries()) {
    const problem = checkItem(name, item);
    if (problem) return { path: [i, ...problem.path], what: problem.what };
  }
  return null;
}

/** What the relay itself keeps up to date. */
const KEPT: ReadonlySet<string> = new Set([
  '$schema',
  'version',
  'thread_id',
  'updated_at',
  'metrics',
] satisfies (keyof State)[]);

/** Why a place of a state is not for patches; nothing where it is. */
export function guardState(path: readonly string[]): string | undefined {
  if (path.length === 0) return 'a state is changed in parts, never as a whole';
  return KEPT.has(path[0]!) ? `"${path[0]}" is kept by the relay itself` : undefined;
}
