import { z } from 'zod';
import { TASKS_LISTED } from '../base/limits.ts';
import { agents } from '../contract/agents.ts';
import { TASK_STATES, TASK_STATUSES, tasks } from '../contract/tasks.ts';
import { receipt } from './receipts.ts';
import { schemasFor } from './schema.ts';
import { count, jsonObject, limit, nullableText, pointerId, text, time } from './shapes.ts';

const state = z.enum(TASK_STATES);

const result = z.object({
  task_id: pointerId,
  url: z.url(),
  status: z.enum(TASK_STATUSES),
  summary: nullableText,
  by: text,
  at: time,
});

const taskInfo = z.object({
  id: pointerId,
  url: z.url(),
  channel: text,
  done_channel: text,
  from: text,
  created_at: time,
  state,
  attempt: count,
  summary: nullableText,
  agent: nullableText,
  stuck: nullableText.describe('why the task does not go on, such as what its agent asks a person'),
  lease: z.object({ group: text, member: text, attempt: count, lease_until: time }).nullable(),
  result: result.nullable(),
});

const settlement = z.object({
  id: pointerId,
  data: z.string().optional().describe('the result itself; the summary stands for it where it is left out'),
  summary: z.string().optional().describe('one line'),
});

const bridge = z.object({
  instance: text,
  runner: text,
  target: text,
  task_channel: text,
  done_channel: text,
  concurrency: count,
  running: z.array(text),
  stuck: z
    .record(text, text)
    .optional()
    .describe('why running tasks do not go on, by their ids, such as what an agent asks a person'),
  done: count,
  failed: count,
  started_at: text,
});

export const taskSchemas = schemasFor(tasks)({
  list: {
    input: z.object({
      channel: z.string().min(1).optional(),
      state: state.optional(),
      limit: limit(TASKS_LISTED),
    }),
    output: z.object({ tasks: z.array(taskInfo) }),
  },
  get: {
    input: z.object({ id: pointerId }),
    output: taskInfo.extend({ size: count, metadata: jsonObject, receipts: z.array(receipt) }),
  },
  done: { input: settlement, output: result, codes: ['conflict', 'over_quota'] },
  fail: { input: settlement, output: result, codes: ['conflict', 'over_quota'] },
  cancel: {
    input: z.object({ id: pointerId, reason: z.string().optional().describe('one line') }),
    output: result,
    codes: ['conflict', 'over_quota'],
  },
});

export const agentSchemas = schemasFor(agents)({
  list: {
    input: z.object({}),
    output: z.object({
      agents: z.array(
        z.object({
          name: text,
          kind: z.enum(['bridge', 'follower']),
          alive: z.boolean().nullable(),
          state: z.enum(['working', 'idle', 'stuck', 'silent']).nullable(),
          last_seen: time.nullable(),
          channels: z.array(text),
          bridge: bridge.optional(),
        }),
      ),
    }),
  },
  beat: { input: bridge.extend({ name: z.string().min(1) }), output: z.null() },
  leave: { input: z.object({ name: z.string().min(1), instance: z.string().min(1) }), output: z.null() },
});
