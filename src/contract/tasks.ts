import { TASK_STATUSES } from '../base/enums.ts';
import { isUuid } from '../base/ids.ts';
import type { JsonObject } from '../base/json.ts';
import type * as shapes from '../schemas/tasks.ts';
import { type Api, type FromRecord, verbs } from './verb.ts';

export { TASK_STATES, TASK_STATUSES } from '../base/enums.ts';
export type * from '../schemas/tasks.ts';

/** Names that both ends of a task agree on without having met. */

export const TASK_CHANNEL = 'agent-tasks';
export const DONE_CHANNEL = 'agent-done';

/** Where runs of pipelines are asked for; an agent that takes tasks in words must not get them. */
export const PIPELINE_CHANNEL = 'pipeline-tasks';
/** The kind that a bridge for them says it is. */
export const PIPELINE_RUNNER = 'pipelines';

/** The group in which bridges share the tasks of a channel, so that no two of them run the same one. */
export const TASK_GROUP = 'bridges';

/** Where tasks for one agent alone go. A group hands out to whoever is free, so an address needs a channel of its own. */
export function directChannel(channel: string, agent: string): string {
  return `${channel}@${agent}`;
}

/**
 * The idempotency key of a task's result: a second result is a conflict, whoever brings it. Where the sender may settle the task,
 * the relay puts it into its own namespace, so that nobody else can take it.
 */
export function resultKey(taskId: string): string {
  return `task-result:${taskId}`;
}

/** The task that a push with this metadata settles; null where it settles none. */
export function settledTask(
  metadata: JsonObject | undefined,
): { id: string; status: shapes.TaskStatus } | null {
  const { task_id, status: given } = metadata ?? {};
  const status = TASK_STATUSES.find((each) => each === given);
  if (status === undefined || typeof task_id !== 'string' || !isUuid(task_id)) return null;
  return { id: task_id.toLowerCase(), status };
}

const itsChannels = ({ channel, done_channel }: FromRecord) => [channel, done_channel];

const verb = verbs({ scope: 'tasks', args: ['id'] });

export const tasks = {
  /** Newest first. */
  list: verb<(o?: shapes.TaskQuery) => Promise<{ readonly tasks: readonly shapes.TaskInfo[] }>>('tasks.list')(
    {
      summary: 'The tasks on the task channels, newest first',
      route: 'GET /tasks',
      args: [],
      channels: ({ channel }) => [channel],
    },
  ),
  get: verb<(id: string) => Promise<shapes.Task>>('tasks.get')({
    summary: 'A task: its state, lease, receipts and result',
    route: 'GET /tasks/:id',
    channels: ({ channel }) => [channel],
  }),
  /** Brings the result. The same again gives the first one; another one is refused with `conflict`. */
  done: verb<(id: string, o?: shapes.Settlement) => Promise<shapes.TaskResult>>('tasks.done')({
    summary: 'Bring the result of a task',
    route: 'POST /tasks/:id/done',
    channels: itsChannels,
    repeatable: true,
  }),
  fail: verb<(id: string, o?: shapes.Settlement) => Promise<shapes.TaskResult>>('tasks.fail')({
    summary: 'Say that a task could not be done, and why',
    route: 'POST /tasks/:id/fail',
    channels: itsChannels,
    repeatable: true,
  }),
  /**
   * Calls it off: it is handed to nobody any more, and the bridge that is at it stops the work. Once more gives the first
   * answer; where a result was first, it is refused with `conflict`.
   */
  cancel: verb<(id: string, o?: { readonly reason?: string }) => Promise<shapes.TaskResult>>('tasks.cancel')({
    summary: 'Call a task off, and stop the work on it',
    route: 'POST /tasks/:id/cancel',
    channels: itsChannels,
    repeatable: true,
  }),
};

export interface TasksApi extends Api<typeof tasks> {}

const agentVerb = verbs({ scope: 'tasks', args: [] });

export const agents = {
  list: agentVerb<() => Promise<{ readonly agents: readonly shapes.Agent[] }>>('agents.list')({
    summary: 'Who is there: bridges and followers, with their last sign of life',
    route: 'GET /agents',
  }),
  /** A bridge is there, and at this. */
  beat: agentVerb<(name: string, bridge: shapes.Bridge) => Promise<void>>('agents.beat')({
    summary: 'A bridge’s heartbeat',
    route: 'POST /agents/:name',
    args: ['name'],
    channels: ({ task_channel, done_channel, channel }) => [task_channel, done_channel, channel],
    status: 204,
    repeatable: true,
  }),
  /** A bridge goes, and says so. */
  leave: agentVerb<(name: string, instance: string) => Promise<void>>('agents.leave')({
    summary: 'A bridge goes',
    route: 'DELETE /agents/:name/:instance',
    args: ['name', 'instance'],
    channels: ({ channel }) => [channel],
    status: 204,
    repeatable: true,
  }),
};

export interface AgentsApi extends Api<typeof agents> {}
