import { RelayError } from '../../base/errors.ts';
import type { Json } from '../../base/json.ts';
import { HANDOFFS_KEPT } from '../../base/limits.ts';
import type { JsonDocument } from '../../formats/json-document.ts';
import { STATE_JSON } from './files.ts';
import { needKind, textAt, textsAt } from './json-file.ts';
import { stamp, timeOf } from './times.ts';
import { nextId, sameId } from './todos.ts';

/**
 * A task for a sub-agent, in state.json. Each has an entry of its own, so children never write over each other, and times of
 * its own: `last_update` goes on telling when the state itself was brought up to date.
 */
export interface Handoff {
  readonly id: string;
  readonly task: string;
  readonly expected_output: string;
  readonly context: readonly string[];
  readonly status: 'open' | 'done' | 'failed';
  readonly created: string | null;
  /** When its result should be there. */
  readonly deadline: string | null;
  readonly result: string | null;
  readonly artifacts: readonly string[];
  readonly completed_at: string | null;
  readonly read_at: string | null;
}

export function readHandoffs(doc: JsonDocument): Handoff[] {
  const list = doc.find(['handoffs']);
  if (list?.kind !== 'array') return [];
  return list.entries.map((_, index) => handoffAt(doc, index));
}

function handoffAt(doc: JsonDocument, index: number): Handoff {
  const text = (name: string) => textAt(doc, ['handoffs', index, name]);
  const status = text('status');
  return {
    id: text('id') ?? `#${index + 1}`,
    task: text('task') ?? '',
    expected_output: text('expected_output') ?? '',
    context: textsAt(doc, ['handoffs', index, 'context']),
    status: status === 'done' || status === 'failed' ? status : 'open',
    created: text('created'),
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
  /** How long it may take. */
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
  forgetOld(doc);
  return readHandoffs(doc).at(-1)!;
}

export interface HandoffReport {
  readonly result: string;
  readonly artifacts?: readonly string[];
  readonly failed?: boolean;
}

/** By the child. Without an id, the only open one is meant. */
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
      what: `${present.id} was reported ${present.status} already (${present.completed_at ?? 'no time given'}).`,
      hint: `Read it with: relay project result ${present.id}`,
    });
  }
  const set = (name: string, value: Json) => doc.set(['handoffs', index, name], value);
  set('status', report.failed ? 'failed' : 'done');
  set('result', report.result);
  set('artifacts', [...(report.artifacts ?? [])]);
  set('completed_at', at);
  return handoffAt(doc, index);
}

/** By the parent: notes that a finished result has been read. */
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
    throw new RelayError('bad_usage', {
      what: `There are several open hand-offs: ${ids}.`,
      hint: `Name the one you mean: relay project report ${open[0]!.id} --result "…"`,
    });
  }
  return all.indexOf(open[0]!);
}

/** Only what is finished and has been read goes, oldest first. */
function forgetOld(doc: JsonDocument): void {
  const finished = readHandoffs(doc).flatMap(({ status, read_at }, index) =>
    status !== 'open' && read_at !== null ? [index] : [],
  );
  for (const index of finished.slice(0, -HANDOFFS_KEPT).reverse()) doc.remove(['handoffs', index]);
}
