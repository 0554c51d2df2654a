import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts';
import { checkField, checkItem, LISTS, type ListName } from '../../domain/threads/state.ts';

export interface TakenOver {
  /** What people and agents wrote into a state: every list, and the summary where there is one. */
  readonly content: JsonObject;
  /** What could not be taken over as it is, in sentences. */
  readonly left: readonly string[];
  /** Whether anything was empty there that is not written at all here: Go writes null, and empty texts. */
  readonly emptied: boolean;
}

type Told = { left: string[]; emptied: boolean };

/** What of a Go relay's state fits a state of this relay. `refs` names the artifacts whose refs had to change. */
export function takeOverState(state: JsonObject, refs: ReadonlyMap<string, string>): TakenOver {
  const told: Told = { left: [], emptied: false };
  const { left } = told;
  const content: JsonObject = {};
  for (const list of Object.keys(LISTS) as ListName[]) {
    const items = state[list] ?? [];
    content[list] = Array.isArray(items) ? fitAll(list, items, refs, told) : [];
    told.emptied ||= state[list] === null;
  }
  const { session_summary } = state;
  if (typeof session_summary === 'string' && session_summary !== '')
    content.session_summary = session_summary;
  for (const [name, value] of Object.entries(state)) {
    const isKept = name === 'session_summary' ? checkField(name, value) === null : KEPT.has(name);
    const isList = Object.hasOwn(LISTS, name) && Array.isArray(value);
    if (!isKept && !isList && value !== null) left.push(`its state has "${name}", which has no place here`);
  }
  return { content, ...told };
}

/** The relay itself keeps these. */
const KEPT: ReadonlySet<string> = new Set([
  '$schema',
  'version',
  'thread_id',
  'name',
  'created_at',
  'updated_at',
  'metrics',
]);

function fitAll(list: ListName, items: Json[], refs: ReadonlyMap<string, string>, told: Told): Json[] {
  return items.flatMap((item, i) => {
    const fitting = fit(list, withNewRefs(item, refs), i, told);
    if (!fitting) told.left.push(`/${list}/${i} of its state does not fit`);
    return fitting ? [fitting] : [];
  });
}

/** Go leaves ids to chance. */
function fit(list: ListName, item: Json, index: number, told: Told): JsonObject | null {
  if (!isJsonObject(item)) return null;
  const { required, optional } = LISTS[list];
  const fields = Object.entries(item).filter(([name, value]) => {
    const check = (optional as { [field: string]: (value: Json) => string | null })[name];
    const fits = check ? check(value) === null : value !== null || name in required;
    const isEmpty = value === null || value === '';
    if (!fits && isEmpty) told.emptied = true;
    if (!fits && !isEmpty) told.left.push(`/${list}/${index}/${name} of its state does not fit`);
    return fits;
  });
  const full: JsonObject = Object.fromEntries(fields);
  if ('id' in required && (full.id === undefined || full.id === null || full.id === '')) {
    full.id = `${list}-${index + 1}`;
    told.left.push(`/${list}/${index} of its state had no id; here it is ${full.id}`);
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
