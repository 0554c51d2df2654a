import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts';
import { STATE_BYTES } from '../../base/limits.ts';
import type { Metrics } from '../../contract/threads.ts';
import { asJson } from '../../domain/records.ts';
import type { LegacyEvent } from '../../domain/threads/event.ts';
import { checkField, checkItem, jsonBytes, LISTS, type ListName } from '../../domain/threads/state.ts';
import { revertOps } from '../../domain/threads/threads.ts';
import { isMoment, type StateRow } from './source.ts';

/** A version of a state: the patch from the previous version, with its own time and metrics. */
export interface LegacyVersion {
  readonly ops: Json;
  readonly stamp: NonNullable<LegacyEvent['stamp']>;
}

/**
 * Bytes of the maximum state size that are reserved for the fields that a relay adds: version, time and
 * metrics.
 */
const AROUND_BYTES = 1024;
/** Maximum number of missing versions in a row. A larger gap stops the import of versions. */
const MISSING_VERSIONS = 10_000;

/**
 * Returns the versions of a state, starting with version 1. A version that cannot be imported repeats the
 * content of the one before. `misfit` is true if our state cannot hold a part of the last version.
 */
export function versionsOf(
  states: Iterable<StateRow>,
  created: string,
  refs: ReadonlyMap<string, string>,
  notes: string[],
) {
  const versions: LegacyVersion[] = [];
  const left = new Set<string>();
  const missing: number[] = [];
  let content: Json = EMPTY;
  let misfit = false;
  let emptied = false;
  /**
   * Adds the content of version 1 as version 2, because version 1 of our threads is always empty. Not called
   * if a later version follows, because that version has its own content.
   */
  let late: (() => void) | undefined;
  const add = (next: Json, stamp: LegacyVersion['stamp']) => {
    versions.push({ ops: asJson(revertOps(content, next)), stamp });
    content = next;
    late = undefined;
  };
  const skipTo = (version: number) => {
    for (; versions.length < version - 1; missing.push(versions.length)) add(content, stampOf({}, created));
  };
  for (const { version, data } of states) {
    const isReadable = data !== null && Number.isSafeInteger(version) && version > versions.length;
    if (!isReadable || version > versions.length + MISSING_VERSIONS) {
      notes.push(`v${version} of the state cannot be read and was not imported`);
      continue;
    }
    skipTo(version);
    const takeover = takeOverState(data, refs);
    misfit = takeover.left.length > 0;
    emptied ||= takeover.emptied;
    for (const what of takeover.left) left.add(what);
    const stamp = stampOf(data, created);
    if (jsonBytes(takeover.content) + AROUND_BYTES > STATE_BYTES) {
      left.add(
        `v${version} of the state is larger than ${STATE_BYTES} bytes; the previous version is used instead`,
      );
      misfit = true;
      add(content, stamp);
    } else if (version === 1 && jsonBytes(takeover.content) !== jsonBytes(EMPTY)) {
      add(EMPTY, stamp);
      left.add('v1 of the state was not empty; its content is now in v2');
      late = () => add(takeover.content, stamp);
    } else add(takeover.content, stamp);
  }
  late?.();
  if (versions.length === 0) add(EMPTY, stampOf({}, created));
  if (missing.length > 0) {
    const [first, last] = [`v${missing[0]}`, `v${missing.at(-1)}`];
    const span = first === last ? first : `${missing.length} versions of the state, ${first} to ${last},`;
    notes.push(`${span} cannot be read; the previous version is used instead`);
  }
  if (emptied) notes.push('null and empty values of the state were dropped');
  notes.push(...[...left].slice(0, NOTES), ...(left.size > NOTES ? [`… and ${left.size - NOTES} more`] : []));
  return { versions, misfit };
}

/** Maximum number of notes about one thread's state. */
const NOTES = 20;

const EMPTY = takeOverState({}, new Map()).content;

const METRICS = ['cache_hits', 'cache_misses', 'tokens_estimate', 'tokens_avoided', 'hop_count'] as const;

function stampOf({ updated_at, metrics }: JsonObject, created: string): LegacyVersion['stamp'] {
  const fields = (metrics ?? {}) as { [name: string]: Json | undefined };
  const figures = METRICS.map((name) => [name, Number.isSafeInteger(fields[name]) ? fields[name] : 0]);
  const stamp = { updated_at: isMoment(updated_at) ? updated_at : created };
  return { ...stamp, metrics: Object.fromEntries(figures) as Metrics };
}

type ConversionNotes = { left: string[]; emptied: boolean };

/**
 * Converts the state of a Go relay. `content` has all lists, and the summary if there is one. `left` names what could
 * not be converted unchanged. `emptied` is true if a null or an empty text was dropped: Go writes such values, and we
 * omit them. `refs` maps replaced artifact refs to new ones.
 */
export function takeOverState(state: JsonObject, refs: ReadonlyMap<string, string>) {
  const report: ConversionNotes = { left: [], emptied: false };
  const { left } = report;
  const content: JsonObject = {};
  for (const list of Object.keys(LISTS) as ListName[]) {
    const items = state[list] ?? [];
    content[list] = Array.isArray(items) ? convertItems(list, items, refs, report) : [];
    report.emptied ||= state[list] === null;
  }
  const { session_summary } = state;
  if (typeof session_summary === 'string' && session_summary !== '')
    content.session_summary = session_summary;
  for (const [name, value] of Object.entries(state)) {
    const isKept = name === 'session_summary' ? checkField(name, value) === null : RELAY_FIELDS.has(name);
    const isList = Object.hasOwn(LISTS, name) && Array.isArray(value);
    if (!isKept && !isList && value !== null)
      left.push(`the field "${name}" of the state cannot be imported and was dropped`);
  }
  return { content, ...report };
}

/** Fields of a state that the relay sets itself. */
const RELAY_FIELDS = new Set('$schema version thread_id name created_at updated_at metrics'.split(' '));

function convertItems(
  list: ListName,
  items: Json[],
  refs: ReadonlyMap<string, string>,
  report: ConversionNotes,
): Json[] {
  return items.flatMap((item, i) => {
    const fitting = convertItem(list, withNewRefs(item, refs), i, report);
    if (!fitting) report.left.push(`/${list}/${i} of the state is not valid and was dropped`);
    return fitting ? [fitting] : [];
  });
}

/**
 * Converts one item of a list, or returns null for an invalid item. A missing id, which the Go relay allows,
 * is added.
 */
function convertItem(list: ListName, item: Json, index: number, report: ConversionNotes): JsonObject | null {
  if (!isJsonObject(item)) return null;
  const { required, optional } = LISTS[list];
  const fields = Object.entries(item).filter(([name, value]) => {
    const check = (optional as { [field: string]: (value: Json) => string | null })[name];
    const fits = check ? check(value) === null : value !== null || name in required;
    const isEmpty = value === null || value === '';
    if (!fits && isEmpty) report.emptied = true;
    if (!fits && !isEmpty)
      report.left.push(`/${list}/${index}/${name} of the state is not valid and was dropped`);
    return fits;
  });
  const full: JsonObject = Object.fromEntries(fields);
  if ('id' in required && (full.id === undefined || full.id === null || full.id === '')) {
    full.id = `${list}-${index + 1}`;
    report.left.push(`/${list}/${index} of the state had no id; its new id is ${full.id}`);
  }
  if (list === 'facts' && full.value === undefined) full.value = null;
  return checkItem(list, full) === null ? full : null;
}

function withNewRefs(value: Json, refs: ReadonlyMap<string, string>): Json {
  if (refs.size === 0) return value;
  if (typeof value === 'string') return refs.get(value) ?? value;
  if (Array.isArray(value)) return value.map((item) => withNewRefs(item, refs));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withNewRefs(item, refs)]));
}
