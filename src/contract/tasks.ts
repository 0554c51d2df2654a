import { isUuid } from '../base/ids.ts';
import type { JsonObject } from '../base/json.ts';
import type { Lease } from './channels.ts';
import type { Receipt } from './receipts.ts';
import { type Api, type FromRecord, verbs } from './verb.ts';

/** Field names are those on the wire, so that local and remote are one type. */

/**
 * `queued`: nobody has it. `running`: somebody holds a lease on it. `acked`: somebody said that it is done and brought no
 * result. `done`, `failed`: there is a result. `canceled`: it was called off before there was one.
 */
export const TASK_STATES = ['queued', 'running', 'acked', 'done', 'failed', 'canceled'] as const;
export type TaskState = (typeof TASK_STATES)[number];

export const TASK_STATUSES = ['done', 'failed', 'canceled'] as const;
export type TaskStatus = (typeof TASK_STATUSES)[number];

/** The task that a push with this metadata settles; null where it settles none. */
export function settledTask(metadata: JsonObject | undefined): { id: string; status: TaskStatus } | null {
  const { task_id, status: given } = metadata ?? {};
  const status = TASK_STATUSES.find((each) => each === given);
  if (status === undefined || typeof task_id !== 'string' || !isUuid(task_id)) return null;
  return { id: task_id.toLowerCase(), status };
}

/** A piece of work handed to an agent: a pointer on a task channel. */
export interface TaskInfo {
  /** The pointer's. */
  readonly id: string;
  readonly url: string;
  readonly channel: string;
  /** Where the result is announced. */
  readonly done_channel: string;
  readonly from: string;
  readonly created_at: string;
  readonly state: TaskState;
  /** How often it has been handed out. */
  readonly attempt: number;
  /** As the sender put it; null where it said nothing. */
  readonly summary: string | null;
  /** The bridge that is at it, or that was when its result came. */
  readonly agent: string | null;
  /** Why the task does not go on, such as what its agent asks a person; null where it does. */
  readonly stuck: string | null;
  readonly lease: TaskLease | null;
  readonly result: TaskResult | null;
}

export interface Task extends TaskInfo {
  /** Of the payload, in bytes. */
  readonly size: number;
  readonly metadata: JsonObject;
  /** The ladder; empty once the pointer itself is gone. */
  readonly receipts: readonly Receipt[];
}

export interface TaskLease extends Pick<Lease, 'member' | 'attempt' | 'lease_until'> {
  readonly group: string;
}

export interface TaskResult {
  readonly task_id: string;
  readonly url: string;
  readonly status: TaskStatus;
  readonly summary: string | null;
  /** Who brought it, or called the task off. */
  readonly by: string;
  readonly at: string;
}

export interface TaskQuery {
  /** One channel; without it, every channel that a bridge has worked on, and `agent-tasks`. */
  readonly channel?: string;
  readonly state?: TaskState;
  readonly limit?: number;
}

export interface Settlement {
  /** The result itself; the summary stands for it where it is left out. */
  readonly data?: string;
  readonly summary?: string;
}

const itsChannels = ({ channel, done_channel }: FromRecord) => [channel, done_channel];

const verb = verbs({ scope: 'tasks', args: ['id'] });

export const tasks = {
  /** Newest first. */
  list: verb<(o?: TaskQuery) => Promise<{ readonly tasks: readonly TaskInfo[] }>>('tasks.list')({
    summary: 'The tasks on the task channels, newest first',
    route: 'GET /tasks',
    args: [],
    channels: ({ channel }) => [channel],
  }),
  get: verb<(id: string) => Promise<Task>>('tasks.get')({
    summary: 'A task: its state, lease, receipts and result',
    route: 'GET /tasks/:id',
    channels: ({ channel }) => [channel],
  }),
  /** Brings the result. The same again gives the first one; another one is refused with `conflict`. */
  done: verb<(id: string, o?: Settlement) => Promise<TaskResult>>('tasks.done')({
    summary: 'Bring the result of a task',
    route: 'POST /tasks/:id/done',
    channels: itsChannels,
    repeatable: true,
  }),
  fail: verb<(id: string, o?: Settlement) => Promise<TaskResult>>('tasks.fail')({
    summary: 'Say that a task could not be done, and why',
    route: 'POST /tasks/:id/fail',
    channels: itsChannels,
    repeatable: true,
  }),
  /**
   * Calls it off: it is handed to nobody any more, and the bridge that is at it stops the work. Once more gives the first
   * answer; where a result was first, it is refused with `conflict`.
   */
  cancel: verb<(id: string, o?: { readonly reason?: string }) => Promise<TaskResult>>('tasks.cancel')({
    summary: 'Call a task off, and stop the work on it',
    route: 'POST /tasks/:id/cancel',
    channels: itsChannels,
    repeatable: true,
  }),
};

export interface TasksApi extends Api<typeof tasks> {}
