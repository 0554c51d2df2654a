import { RelayError } from '../../base/errors.ts';
import type { Json } from '../../base/json.ts';
import { jsonEqual } from '../../base/json.ts';
import { HANDOFFS_KEPT } from '../../base/limits.ts';
import type { JsonDocument, JsonPath } from '../../formats/json-document.ts';
import { needKind, STATE_JSON, stamp, textAt, textsAt, timeOf } from './files.ts';
import { nextId, sameId } from './todos.ts';

/** Fields of state.json. A missing or invalid field is null or an empty list. */
export type ProjectState = Readonly<ReturnType<typeof readState>>;

/** Data that a hook saves before the context of an agent is compacted. */
export interface Checkpoint {
  readonly at: string;
  readonly client: string | null;
  readonly session_id: string | null;
  readonly trigger: string | null;
  readonly branch: string | null;
  readonly commit: string | null;
  readonly files_in_flight: readonly string[];
}

export function readState(doc: JsonDocument) {
  const text = (...path: string[]) => textAt(doc, path);
  const at = text('checkpoint', 'at');
  const last_update = text('last_update');
  const [branch, commit] = [text('checkpoint', 'branch'), text('checkpoint', 'commit')];
  const files_in_flight = textsAt(doc, ['checkpoint', 'files_in_flight']);
  return {
    phase: text('phase'),
    current_task: text('current_task'),
    completed: textsAt(doc, ['progress', 'completed']),
    in_progress: textsAt(doc, ['progress', 'in_progress']).join('; ') || null,
    blocked: textsAt(doc, ['progress', 'blocked']),
    next_steps: textsAt(doc, ['progress', 'next_steps']),
    notes: textsAt(doc, ['notes']).join('; ') || null,
    last_update,
    /** Time of the last sync. A checkpoint changes `last_update` but not this time. */
    last_sync: at !== null && at === last_update ? text('checkpoint', 'last_sync') : last_update,
    checkpoint: at === null || timeOf(at) === null ? null : { at, branch, commit, files_in_flight },
  };
}

/**
 * Returns whether a state.json belongs to this program, and not to another program that uses this file name. An empty
 * object counts as ours.
 */
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
  /**
   * Finished items. They are added to `completed`, and removed from the next steps, from blocked work and
   * from work in progress.
   */
  readonly done?: readonly string[];
  readonly next?: readonly string[];
  readonly blocked?: readonly string[];
  /**
   * Items that are removed from the next steps, from blocked work and from work in progress, without being
   * completed.
   */
  readonly drop?: readonly string[];
  readonly note?: string;
  readonly session?: string;
}

/**
 * Records the end of a session. Items are added to the lists. A list is never replaced, because another
 * session may have written to it meanwhile.
 */
export function syncState(doc: JsonDocument, change: StateChange, at: string): void {
  needKind(STATE_JSON, doc, ['progress'], 'object');
  const set = (path: JsonPath, value: string | undefined) => {
    if (value !== undefined) doc.set(path, value);
  };
  set(['phase'], change.phase);
  set(['current_task'], change.task);
  set(['progress', 'in_progress'], change.doing);
  for (const item of change.done ?? []) {
    removeFromLists(doc, item);
    addToList(doc, 'completed', item);
  }
  for (const item of change.drop ?? []) removeFromLists(doc, item);
  for (const item of change.blocked ?? []) addToList(doc, 'blocked', item);
  for (const item of change.next ?? []) addToList(doc, 'next_steps', item);
  set(['notes'], change.note);
  set(['session_id'], change.session);
  doc.set(['last_update'], at);
}

/**
 * Saves a checkpoint. This changes `last_update`. So the time of the last sync, which was in that field, is
 * stored in the checkpoint as `last_sync`.
 */
export function saveCheckpoint(doc: JsonDocument, checkpoint: Checkpoint): void {
  needKind(STATE_JSON, doc, ['checkpoint'], 'object');
  const { last_sync, last_update } = readState(doc);
  const { at, files_in_flight, ...rest } = checkpoint;
  const fresh = { at, last_sync, ...rest, files_in_flight: [...files_in_flight] };
  // Some clients announce a compaction at every turn. So do not write a checkpoint that differs from the last one
  // only in its time.
  if (jsonEqual(doc.get(['checkpoint']), { ...fresh, at: last_update })) return;
  doc.set(['checkpoint'], fresh);
  doc.set(['last_update'], at);
  if (checkpoint.session_id !== null) doc.set(['session_id'], checkpoint.session_id);
}

function addToList(doc: JsonDocument, list: string, item: string): void {
  const path = ['progress', list];
  needKind(STATE_JSON, doc, path, 'array');
  if (!textsAt(doc, path).includes(item)) doc.append(path, item);
}

function removeFromLists(doc: JsonDocument, item: string): void {
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

/**
 * A task for a sub-agent, stored in state.json. Each hand-off is a separate entry, so that sub-agents never overwrite
 * each other. A hand-off has its own times. It does not change `last_update`, which is about the rest of the state.
 */
export type Handoff = Readonly<ReturnType<typeof handoffAt>>;

export function readHandoffs(doc: JsonDocument): Handoff[] {
  const list = doc.find(['handoffs']);
  if (list?.kind !== 'array') return [];
  return list.entries.map((_, index) => handoffAt(doc, index));
}

function handoffAt(doc: JsonDocument, index: number) {
  const text = (name: string) => textAt(doc, ['handoffs', index, name]);
  const stored = text('status');
  const status: 'open' | 'done' | 'failed' = stored === 'done' || stored === 'failed' ? stored : 'open';
  return {
    id: text('id') ?? `#${index + 1}`,
    task: text('task') ?? '',
    expected_output: text('expected_output') ?? '',
    context: textsAt(doc, ['handoffs', index, 'context']),
    status,
    created: text('created'),
    /** Time at which the result is due. */
    deadline: text('deadline'),
    result: text('result'),
    artifacts: textsAt(doc, ['handoffs', index, 'artifacts']),
    completed_at: text('completed_at'),
    read_at: text('read_at'),
  };
}

export function isOverdue({ status, deadline }: Handoff, now: number): boolean {
  return status === 'open' && (timeOf(deadline) ?? now) < now;
}

export interface NewHandoff {
  readonly task: string;
  readonly expect: string;
  readonly context?: readonly string[];
  /** Time in ms until the deadline. */
  readonly deadlineMs?: number;
}

export function openHandoff(doc: JsonDocument, fresh: NewHandoff, at: string): Handoff {
  needKind(STATE_JSON, doc, ['handoffs'], 'array');
  const id = nextId('HANDOFF', readHandoffs(doc));
  doc.append(['handoffs'], {
    id,
    task: fresh.task,
    expected_output: fresh.expect,
    context: [...(fresh.context ?? [])],
    status: 'open',
    created: at,
    ...(fresh.deadlineMs === undefined ? {} : { deadline: stamp(timeOf(at)! + fresh.deadlineMs) }),
    result: null,
    artifacts: [],
    completed_at: null,
  });
  deleteOldHandoffs(doc);
  return readHandoffs(doc).at(-1)!;
}

export interface HandoffReport {
  readonly result: string;
  readonly artifacts?: readonly string[];
  readonly failed?: boolean;
}

/** Stores the report of a sub-agent on a hand-off. If `id` is null, there must be exactly one open hand-off. */
export function reportHandoff(
  doc: JsonDocument,
  id: string | null,
  report: HandoffReport,
  at: string,
): Handoff {
  const index = findHandoff(doc, id, 'open');
  const present = handoffAt(doc, index);
  if (present.status !== 'open') {
    throw new RelayError('conflict', {
      what: `${present.id} was already reported as ${present.status} (${present.completed_at ?? 'no time given'}).`,
      hint: `Read the result with: relay project result ${present.id}`,
    });
  }
  const set = (name: string, value: Json) => doc.set(['handoffs', index, name], value);
  set('status', report.failed ? 'failed' : 'done');
  set('result', report.result);
  set('artifacts', [...(report.artifacts ?? [])]);
  set('completed_at', at);
  return handoffAt(doc, index);
}

/**
 * Returns a hand-off to the parent agent. If it is finished, records that it was read. If `id` is null,
 * returns the newest hand-off.
 */
export function collectHandoff(doc: JsonDocument, id: string | null, at: string): Handoff {
  const index = findHandoff(doc, id, 'newest');
  const present = handoffAt(doc, index);
  if (present.status !== 'open' && present.read_at === null) doc.set(['handoffs', index, 'read_at'], at);
  return handoffAt(doc, index);
}

function findHandoff(doc: JsonDocument, id: string | null, otherwise: 'open' | 'newest'): number {
  const all = readHandoffs(doc);
  const no = (what: string) =>
    new RelayError('no_entry', { file: STATE_JSON, what, list: 'relay project result --all' });
  if (id !== null) {
    const index = all.findIndex((handoff) => sameId('HANDOFF', handoff.id, id));
    if (index < 0) throw no(`hand-off ${id}`);
    return index;
  }
  if (otherwise === 'newest') {
    if (all.length === 0) throw no('hand-off yet');
    return all.length - 1;
  }
  const open = all.filter((handoff) => handoff.status === 'open');
  if (open.length === 0) throw no('open hand-off');
  if (open.length > 1) {
    const ids = open.map((handoff) => handoff.id).join(', ');
    const hint = `Pass the id of one of them: relay project report ${open[0]!.id} --result "…"`;
    throw new RelayError('bad_usage', { what: `There are several open hand-offs: ${ids}.`, hint });
  }
  return all.indexOf(open[0]!);
}

/** Deletes the oldest hand-offs that are finished and were read. The newest `HANDOFFS_KEPT` of them stay. */
function deleteOldHandoffs(doc: JsonDocument): void {
  const finished = readHandoffs(doc).flatMap(({ status, read_at }, index) =>
    status !== 'open' && read_at !== null ? [index] : [],
  );
  for (const index of finished.slice(0, -HANDOFFS_KEPT).reverse()) doc.remove(['handoffs', index]);
}
