import { z } from 'zod';
import { TASK_STATES, TASK_STATUSES } from '../base/enums.ts';
import { TASKS_LISTED } from '../base/limits.ts';
import { receipt } from './pointers.ts';
import {
  count,
  jsonObject,
  limit,
  nullableText,
  pointerId,
  type SchemaRows,
  type Shape,
  text,
  time,
} from './shapes.ts';

const state = z.enum(TASK_STATES);
export type TaskState = Shape<typeof state>;
const status = z.enum(TASK_STATUSES);
export type TaskStatus = Shape<typeof status>;

const result = z.object({
  task_id: pointerId,
  url: z.url(),
  status,
  summary: nullableText,
  /** Name of the caller who delivered the result or cancelled the task. */
  by: text,
  at: time,
});
export interface TaskResult extends Shape<typeof result> {}

const lease = z.object({ group: text, member: text, attempt: count, lease_until: time });
export interface TaskLease extends Shape<typeof lease> {}

const taskInfo = z.object({
  /** Id of the task, which is the id of its pointer. */
  id: pointerId,
  url: z.url(),
  channel: text,
  /** Channel on which the result is announced. */
  done_channel: text,
  from: text,
  created_at: time,
  state,
  /** Number of deliveries of the task to a bridge. */
  attempt: count,
  /** Summary by the sender. Null if there is none. */
  summary: nullableText,
  /** Name of the bridge that works on the task or delivered its result. */
  agent: nullableText,
  /** Why the task is stuck, such as a question of the agent to a person. Null if the task is not stuck. */
  stuck: nullableText.describe('why the task is stuck, such as a question of the agent to a person'),
  lease: lease.nullable(),
  result: result.nullable(),
});
/** Work that was sent to an agent: a pointer on a task channel. */
export interface TaskInfo extends Shape<typeof taskInfo> {}

const task = taskInfo.extend({
  /** Size of the payload in bytes. */
  size: count,
  metadata: jsonObject,
  /** The receipts of the task. Empty if the pointer of the task has expired. */
  receipts: z.array(receipt),
});
export interface Task extends Shape<typeof task> {}

const taskQuery = z.object({
  /** Task channel. Default: `agent-tasks` and every channel that a bridge has served. */
  channel: z.string().min(1).optional(),
  state: state.optional(),
  limit: limit(TASKS_LISTED),
});
export interface TaskQuery extends Shape<typeof taskQuery> {}

const settlement = z.object({
  data: z.string().optional().describe('the result; by default the summary is the result'),
  summary: z.string().optional().describe('one line'),
});
export interface Settlement extends Shape<typeof settlement> {}

const settle = {
  input: z.object({ id: pointerId, ...settlement.shape }),
  output: result,
  codes: ['conflict', 'over_quota'],
} satisfies SchemaRows[string];

export const taskSchemas = {
  list: { input: taskQuery, output: z.object({ tasks: z.array(taskInfo) }) },
  get: { input: z.object({ id: pointerId }), output: task },
  done: settle,
  fail: settle,
  cancel: {
    ...settle,
    input: z.object({ id: pointerId, reason: z.string().optional().describe('one line') }),
  },
} satisfies SchemaRows;
