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
  /** Who brought it, or called the task off. */
  by: text,
  at: time,
});
export interface TaskResult extends Shape<typeof result> {}

const lease = z.object({ group: text, member: text, attempt: count, lease_until: time });
export interface TaskLease extends Shape<typeof lease> {}

const taskInfo = z.object({
  /** The pointer's. */
  id: pointerId,
  url: z.url(),
  channel: text,
  /** Where the result is announced. */
  done_channel: text,
  from: text,
  created_at: time,
  state,
  /** How often it has been handed out. */
  attempt: count,
  /** As the sender put it; null where it said nothing. */
  summary: nullableText,
  /** The bridge that is at it, or that was when its result came. */
  agent: nullableText,
  /** Why the task does not go on, such as what its agent asks a person; null where it does. */
  stuck: nullableText.describe('why the task does not go on, such as what its agent asks a person'),
  lease: lease.nullable(),
  result: result.nullable(),
});
/** A piece of work handed to an agent: a pointer on a task channel. */
export interface TaskInfo extends Shape<typeof taskInfo> {}

const task = taskInfo.extend({
  /** Of the payload, in bytes. */
  size: count,
  metadata: jsonObject,
  /** The ladder; empty once the pointer itself is gone. */
  receipts: z.array(receipt),
});
export interface Task extends Shape<typeof task> {}

const taskQuery = z.object({
  /** One channel; without it, every channel that a bridge has worked on, and `agent-tasks`. */
  channel: z.string().min(1).optional(),
  state: state.optional(),
  limit: limit(TASKS_LISTED),
});
export interface TaskQuery extends Shape<typeof taskQuery> {}

const settlement = z.object({
  data: z.string().optional().describe('the result itself; the summary stands for it where it is left out'),
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

const bridge = z.object({
  /** Tells two of the same name apart. */
  instance: text,
  /** `exec`, `tmux`, `acp`, `a2a`. */
  runner: text,
  /** The command, the session or the address. */
  target: text,
  task_channel: text,
  done_channel: text,
  concurrency: count,
  /** The ids of the tasks it is at. */
  running: z.array(text),
  /** Task id → why the task does not go on, such as a question that a person has to answer. */
  stuck: z
    .record(text, text)
    .optional()
    .describe('why running tasks do not go on, by their ids, such as what an agent asks a person'),
  done: count,
  failed: count,
  started_at: text,
});
/** What a bridge says of itself with each heartbeat. */
export interface Bridge extends Shape<typeof bridge> {}

const agent = z.object({
  name: text,
  kind: z.enum(['bridge', 'follower']),
  /** A bridge that was heard of lately. Of a follower nobody can tell: it reads when it reads. */
  alive: z.boolean().nullable(),
  /**
   * Of a bridge. `working`, `idle`. `stuck`: a task does not go on, because it waits for a person or the bridge was not heard of
   * since it took the task. `silent`: not heard of, without a task. Null for a follower.
   */
  state: z.enum(['working', 'idle', 'stuck', 'silent']).nullable(),
  /** A bridge's last heartbeat, a follower's last reading. */
  last_seen: time.nullable(),
  /** What a bridge serves, what a follower follows. */
  channels: z.array(text),
  bridge: bridge.optional(),
});
/** Somebody who can be given work, or who reads what is sent. */
export interface Agent extends Shape<typeof agent> {}

export const agentSchemas = {
  list: { input: z.object({}), output: z.object({ agents: z.array(agent) }) },
  beat: { input: bridge.extend({ name: z.string().min(1) }), output: z.null() },
  leave: { input: z.object({ name: z.string().min(1), instance: z.string().min(1) }), output: z.null() },
} satisfies SchemaRows;
