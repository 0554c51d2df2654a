import type { ActivityKind } from '../../contract/activity.ts';
import type { Caller } from '../../contract/caller.ts';
import { TASK_CHANNEL } from '../../contract/tasks.ts';
import type { Deps } from '../deps.ts';
import type { PointerRecord } from './record.ts';

const SETTLED: { readonly [status: string]: ActivityKind } = {
  done: 'task.done',
  failed: 'task.failed',
  canceled: 'task.canceled',
};

/** Tells of a push: a task and its result are pushes too, and told as what they are. */
export function notePush(
  { activity }: Deps,
  caller: Caller,
  id: string,
  { metadata, channel, size }: PointerRecord,
  isResult: boolean,
): void {
  const pushed = {
    by: caller.name,
    pointer: id,
    size,
    ...(channel === null ? {} : { channel }),
  };
  const settled = isResult ? SETTLED[String(metadata.status)] : undefined;
  if (settled !== undefined)
    activity.note(caller.tenant, { ...pushed, kind: settled, task: String(metadata.task_id).toLowerCase() });
  else if (channel === TASK_CHANNEL || (channel !== null && typeof metadata.done_channel === 'string'))
    activity.note(caller.tenant, { ...pushed, kind: 'task.sent', task: id });
  else activity.note(caller.tenant, { ...pushed, kind: 'pointer.pushed' });
}

export function noteRevocation(
  { activity }: Deps,
  { tenant, name: by }: Caller,
  pointer: string,
  { channel }: PointerRecord,
): void {
  activity.note(tenant, { kind: 'pointer.revoked', by, pointer, ...(channel === null ? {} : { channel }) });
}
