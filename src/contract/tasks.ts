import { TASK_STATUSES } from '../base/enums.ts';
import { isUuid } from '../base/ids.ts';
import type { JsonObject } from '../base/json.ts';
import type * as shapes from '../schemas/tasks.ts';
import { type Api, type FromRecord, verbs } from './verb.ts';

export { TASK_STATES, TASK_STATUSES } from '../base/enums.ts';
export type * from '../schemas/tasks.ts';

/** Default channel on which tasks are sent. */
export const TASK_CHANNEL = 'agent-tasks';
/** Default channel on which results are announced. */
export const DONE_CHANNEL = 'agent-done';

/** Channel for tasks that run pipelines. It is separate, so that agents that expect text tasks never receive them. */
export const PIPELINE_CHANNEL = 'pipeline-tasks';
/** Name of the runner that a bridge for pipeline runs reports. */
export const PIPELINE_RUNNER = 'pipelines';

/** Name of the group in which bridges share the tasks of a channel: each task goes to one bridge. */
export const TASK_GROUP = 'bridges';

/** Returns the channel for tasks to one named agent. From the shared channel, any free bridge could take the task. */
export function directChannel(channel: string, agent: string): string {
  return `${channel}@${agent}`;
}

/**
 * Returns the idempotency key for the result of a task. All results of a task share it, so a second, different result
 * is a conflict. If the sender may settle the task, the relay stores the key in a reserved namespace that other
 * callers cannot use.
 */
export function resultKey(taskId: string): string {
  return `task-result:${taskId}`;
}

/**
 * Returns the id and the status of the task that a push with this metadata settles. Returns null if the push is not a
 * result.
 */
export function settledTask(
  metadata: JsonObject | undefined,
): { id: string; status: shapes.TaskStatus } | null {
  const { task_id, status: rawStatus } = metadata ?? {};
  const status = TASK_STATUSES.find((each) => each === rawStatus);
  if (status === undefined || typeof task_id !== 'string' || !isUuid(task_id)) return null;
  return { id: task_id.toLowerCase(), status };
}

const itsChannels = ({ channel, done_channel }: FromRecord) => [channel, done_channel];

const verb = verbs({ scope: 'tasks', args: ['id'] });

export const tasks = {
  /** Lists tasks, newest first. */
  list: verb<(o?: shapes.TaskQuery) => Promise<{ readonly tasks: readonly shapes.TaskInfo[] }>>('tasks.list')(
    {
      summary: 'List the tasks on the task channels, newest first',
      route: 'GET /tasks',
      args: [],
      channels: ({ channel }) => [channel],
    },
  ),
  get: verb<(id: string) => Promise<shapes.Task>>('tasks.get')({
    summary: 'Get a task: its state, lease, receipts and result',
    route: 'GET /tasks/:id',
    channels: ({ channel }) => [channel],
  }),
  /**
   * Delivers the result of a task. Repeating the call returns the first result. A different result is refused
   * with `conflict`.
   */
  done: verb<(id: string, o?: shapes.Settlement) => Promise<shapes.TaskResult>>('tasks.done')({
    summary: 'Deliver the result of a task',
    route: 'POST /tasks/:id/done',
    channels: itsChannels,
    repeatable: true,
  }),
  fail: verb<(id: string, o?: shapes.Settlement) => Promise<shapes.TaskResult>>('tasks.fail')({
    summary: 'Report that a task failed, and why',
    route: 'POST /tasks/:id/fail',
    channels: itsChannels,
    repeatable: true,
  }),
  /**
   * Cancels a task: it is no longer delivered, and a bridge that works on it stops. Repeating the call returns the
   * first answer. Rejects with `conflict` if the task already has a result.
   */
  cancel: verb<(id: string, o?: { readonly reason?: string }) => Promise<shapes.TaskResult>>('tasks.cancel')({
    summary: 'Cancel a task and stop the work on it',
    route: 'POST /tasks/:id/cancel',
    channels: itsChannels,
    repeatable: true,
  }),
};

export interface TasksApi extends Api<typeof tasks> {}
