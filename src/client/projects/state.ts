import type { JsonDocument, JsonPath } from '../../formats/json-document.ts';
import { jsonEqual } from '../../formats/json-patch/equal.ts';
import { STATE_JSON } from './files.ts';
import { needKind, textAt, textsAt } from './json-file.ts';
import { timeOf } from './times.ts';

/** state.json as far as it can be read. */
export interface ProjectState {
  readonly phase: string | null;
  readonly current_task: string | null;
  readonly completed: readonly string[];
  readonly in_progress: string | null;
  readonly blocked: readonly string[];
  readonly next_steps: readonly string[];
  readonly notes: string | null;
  readonly last_update: string | null;
  /** When somebody last said where things stand; a checkpoint does not count. */
  readonly last_sync: string | null;
  readonly checkpoint: Pick<Checkpoint, 'at' | 'branch' | 'commit' | 'files_in_flight'> | null;
}

/** What a hook saves before an agent's context is compacted. */
export interface Checkpoint {
  readonly at: string;
  readonly client: string | null;
  readonly session_id: string | null;
  readonly trigger: string | null;
  readonly branch: string | null;
  readonly commit: string | null;
  readonly files_in_flight: readonly string[];
}

export function readState(doc: JsonDocument): ProjectState {
  const text = (...path: string[]) => textAt(doc, path);
  const at = text('checkpoint', 'at');
  const last_update = text('last_update');
  return {
    phase: text('phase'),
    current_task: text('current_task'),
    completed: textsAt(doc, ['progress', 'completed']),
    in_progress: textsAt(doc, ['progress', 'in_progress']).join('; ') || null,
    blocked: textsAt(doc, ['progress', 'blocked']),
    next_steps: textsAt(doc, ['progress', 'next_steps']),
    notes: textsAt(doc, ['notes']).join('; ') || null,
    last_update,
    last_sync: at !== null && at === last_update ? text('checkpoint', 'last_sync') : last_update,
    checkpoint:
      at === null || timeOf(at) === null
        ? null
        : {
            at,
            branch: text('checkpoint', 'branch'),
            commit: text('checkpoint', 'commit'),
            files_in_flight: textsAt(doc, ['checkpoint', 'files_in_flight']),
          },
  };
}

/** Whether a state.json is one of ours: other programs keep a file of that name too. A new one may be empty. */
export function isProjectState(doc: JsonDocument): boolean {
  if (doc.root.kind === 'object' && doc.root.entries.length === 0) return true;
  const ours = [
    ['current_task'],
    ...['completed', 'in_progress', 'next_steps'].map((list) => ['progress', list]),
  ];
  return ours.some((path) => doc.find(path) !== undefined);
}

export interface StateChange {
  readonly phase?: string;
  readonly task?: string;
  readonly doing?: string;
  /** Joins `completed` and leaves the lists of what was next, blocked or in progress. */
  readonly done?: readonly string[];
  readonly next?: readonly string[];
  readonly blocked?: readonly string[];
  /** Leaves what is next and blocked without being done. */
  readonly drop?: readonly string[];
  readonly note?: string;
  readonly session?: string;
}

/** The end of a session. Lists are added to, never replaced: another session may have written in between. */
export function syncState(doc: JsonDocument, change: StateChange, at: string): void {
  needKind(STATE_JSON, doc, ['progress'], 'object');
  const set = (path: JsonPath, value: string | undefined) => {
    if (value !== undefined) doc.set(path, value);
  };
  set(['phase'], change.phase);
  set(['current_task'], change.task);
  set(['progress', 'in_progress'], change.doing);
  for (const item of change.done ?? []) {
    leave(doc, item);
    add(doc, 'completed', item);
  }
  for (const item of change.drop ?? []) leave(doc, item);
  for (const item of change.blocked ?? []) add(doc, 'blocked', item);
  for (const item of change.next ?? []) add(doc, 'next_steps', item);
  set(['notes'], change.note);
  set(['session_id'], change.session);
  doc.set(['last_update'], at);
}

/** Saves a checkpoint. It moves `last_update`, so the time of the last real sync is kept in `last_sync`. */
export function saveCheckpoint(doc: JsonDocument, checkpoint: Checkpoint): void {
  needKind(STATE_JSON, doc, ['checkpoint'], 'object');
  const { last_sync, last_update } = readState(doc);
  const { at, files_in_flight, ...rest } = checkpoint;
  const fresh = { at, last_sync, ...rest, files_in_flight: [...files_in_flight] };
  // Some clients announce a compaction at every turn: a checkpoint that says nothing new is not written.
  if (jsonEqual(doc.get(['checkpoint']), { ...fresh, at: last_update })) return;
  doc.set(['checkpoint'], fresh);
  doc.set(['last_update'], at);
  if (checkpoint.session_id !== null) doc.set(['session_id'], checkpoint.session_id);
}

function add(doc: JsonDocument, list: string, item: string): void {
  const path = ['progress', list];
  needKind(STATE_JSON, doc, path, 'array');
  if (!textsAt(doc, path).includes(item)) doc.append(path, item);
}

function leave(doc: JsonDocument, item: string): void {
  const same = (other: string | null) =>
    other !== null && other.trim().toLowerCase() === item.trim().toLowerCase();
  for (const list of ['next_steps', 'blocked']) {
    const value = doc.get(['progress', list]);
    if (!Array.isArray(value)) continue;
    for (const [index, other] of [...value.entries()].reverse()) {
      if (typeof other === 'string' && same(other)) doc.remove(['progress', list, index]);
    }
  }
  if (same(textAt(doc, ['progress', 'in_progress']))) doc.set(['progress', 'in_progress'], '');
}
