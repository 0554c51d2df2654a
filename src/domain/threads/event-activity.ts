import type { Json } from '../../base/json.ts';
import type { ActivityKind } from '../../contract/activity.ts';
import type { Figures } from '../activity/figures.ts';
import type { Deps } from '../deps.ts';
import { makesVersion, type StoredEvent } from './event.ts';
import { type Head, promptFigures } from './fold.ts';

/** Events that are told as what they are; all others are told as an event of some type. */
const KINDS: { readonly [type: string]: ActivityKind } = {
  'thread.created': 'thread.created',
  'state.patch.applied': 'thread.patched',
  'checkpoint.created': 'thread.patched',
  'artifact.created': 'artifact.created',
  'artifact.deleted': 'artifact.deleted',
  'pipeline.started': 'pipeline.started',
  'pipeline.resumed': 'pipeline.resumed',
  'pipeline.finished': 'pipeline.finished',
  'step.started': 'step.started',
  'step.done': 'step.done',
  'step.failed': 'step.failed',
};

/**
 * Tells of an event that was appended to a thread. Names are cut: events of clients may say anything. A look that is not counted
 * is in the thread's own log and no news to anybody: pages that show what happens would fill it by being looked at.
 */
export function noteEvent({ activity }: Deps, tenant: string, head: Head, event: StoredEvent): void {
  const { type, payload } = event;
  if (type === 'artifact.pulled' && payload.counted === false) return;
  const kind = KINDS[type] ?? 'thread.event';
  const name = text(payload.name ?? payload.pipeline ?? payload.step);
  const status = text(payload.status);
  activity.note(
    tenant,
    {
      kind,
      by: text(payload.by) ?? 'relay',
      thread: head.id,
      event: String(head.count),
      type,
      ...(makesVersion(event) ? { version: head.version } : {}),
      ...(typeof payload.ref === 'string' ? { artifact: text(payload.ref) } : {}),
      ...(typeof payload.size === 'number' ? { size: payload.size } : {}),
      ...(name === undefined ? {} : { name }),
      ...(status === undefined ? {} : { status }),
    },
    prompted(event),
  );
}

function prompted(event: StoredEvent): Figures {
  const figures = promptFigures(event);
  if (!figures) return {};
  const { pasted_tokens, shown_tokens } = figures;
  return { prompts: 1, pasted_tokens, shown_tokens };
}

function text(value: Json | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value.slice(0, 120) : undefined;
}
