import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts';
import { checkField, checkItem, LISTS, type ListName } from '../../domain/threads/state-schema.ts';

export interface TakenOver {
  /** What people and agents wrote into a state: every list, and the summary where there is one. */
  readonly content: JsonObject;
  /** What could not be taken over as it is, in sentences. */
  readonly left: readonly string[];
}

/** What of a Go relay's state fits a state of this relay. `refs` names the artifacts whose refs had to change. */
export function takeOverState(state: JsonObject, refs: ReadonlyMap<string, string>): TakenOver {
  const left: string[] = [];
  const content: JsonObject = {};
  for (const list of Object.keys(LISTS) as ListName[]) {
    const items = state[list] ?? [];
    content[list] = Array.isArray(items) ? fitAll(list, items, refs, left) : [];
  }
  const { session_summary } = state;
  if (typeof session_summary === 'string' && session_summary !== '')
    content.session_summary = session_summary;
  for (const [name, value] of Object.entries(state)) {
    const isKept = name === 'session_summary' ? checkField(name, value) === null : KEPT.has(name);
    const isList = Object.hasOwn(LISTS, name) && Array.isArray(value);
    if (!isKept && !isList && value !== null) left.push(`its state has "${name}", which has no place here`);
  }
  return { content, left };
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

function fitAll(list: ListName, items: Json[], refs: ReadonlyMap<string, string>, left: string[]): Json[] {
  return items.flatMap((item, i) => {
    const fitting = fit(list, withNewRefs(item, refs), i, left);
    if (!fitting) left.push(`/${list}/${i} of its state does not fit`);
    return fitting ? [fitting] : [];
  });
}

/** Go writes null or an empty text for what is not there, and leaves ids to chance. */
function fit(list: ListName, item: Json, index: number, left: string[]): JsonObject | null {
  if (!isJsonObject(item)) return null;
  const { required, optional } = LISTS[list];
  const fields = Object.entries(item).filter(([name, value]) => {
    const check = (optional as { [field: string]: (value: Json) => string | null })[name];
    const fits = check ? check(value) === null : value !== null || name in required;
    if (!fits && value !== null && value !== '')
      left.push(`/${list}/${index}/${name} of its state does not fit`);
    return fits;
  });
  const full: JsonObject = Object.fromEntries(fields);
  if ('id' in required && (full.id === undefined || full.id === null || full.id === '')) {
    full.id = `${list}-${index + 1}`;
    left.push(`/${list}/${index} of its state had no id; here it is ${full.id}`);
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
