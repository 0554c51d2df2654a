import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts';
import { checkItem, LISTS, type ListName } from '../../domain/threads/state-schema.ts';

export interface TakenOver {
  /** The lists that can be taken over; those of refs are made anew from the artifacts. */
  readonly lists: { readonly [list: string]: readonly JsonObject[] };
  readonly summary: string | undefined;
  /** What could not, in sentences. */
  readonly left: readonly string[];
}

/** What of a Go relay's state.json fits a state of this relay. `refs` names the artifacts whose refs had to change. */
export function takeOverState(state: JsonObject, refs: ReadonlyMap<string, string>): TakenOver {
  const lists: { [list: string]: JsonObject[] } = {};
  const left: string[] = [];
  for (const [name, value] of Object.entries(state)) {
    if (KEPT.has(name) || value === null) continue;
    if (!Object.hasOwn(LISTS, name) || !Array.isArray(value)) {
      left.push(`its state has "${name}", which has no place here`);
      continue;
    }
    const items: JsonObject[] = [];
    for (const [i, item] of value.entries()) {
      const fitting = fit(name as ListName, withNewRefs(item, refs), i);
      if (fitting) items.push(fitting);
      else left.push(`/${name}/${i} of its state does not fit`);
    }
    if (items.length > 0) lists[name] = items;
  }
  const { session_summary } = state;
  const summary = typeof session_summary === 'string' && session_summary !== '' ? session_summary : undefined;
  return { lists, summary, left };
}

/** The relay itself keeps these, or they are made anew. */
const KEPT: ReadonlySet<string> = new Set([
  '$schema',
  'version',
  'thread_id',
  'name',
  'created_at',
  'updated_at',
  'metrics',
  'artifacts',
  'session_summary',
]);

/** Go writes null for what is empty, and leaves ids to chance. */
function fit(list: ListName, item: Json, index: number): JsonObject | null {
  if (!isJsonObject(item)) return null;
  const fields = Object.entries(item).filter(([name, value]) => value !== null || name === 'value');
  const full: JsonObject = Object.fromEntries(fields);
  if ('id' in LISTS[list].required && (full.id === undefined || full.id === ''))
    full.id = `${list}-${index + 1}`;
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
