import { z } from 'zod';
import { TASKS_LISTED } from '../base/limits.ts';
import { agents } from '../contract/agents.ts';
import { TASK_STATES, TASK_STATUSES, tasks } from '../contract/tasks.ts';
import { receipt } from './receipts.ts';
import { schemasFor } from './schema.ts';
import { count, jsonObject, limit, pointerId, time } from './shapes.ts';

const state = z.enum(TASK_STATES);

const result = z.object({
  task_id: pointerId,
  url: z.url(),
  status: z.enum(TASK_STATUSES),
  summary: z.string().nullable(),
  by: z.string(),
  at: time,
});

const taskInfo = z.object({
  id: pointerId,
  url: z.url(),
  channel: z.string(),
  done_channel: z.string(),
  from: z.string(),
  created_at: time,
  state,
  attempt: count,
  summary: z.string().nullable(),
  agent: z.string().nullable(),
  lease: z.object({ group: z.string(), member: z.string(), attempt: count, lease_until: time }).nullable(),
  result: result.nullable(),
});

const settlement = z.object({
  id: pointerId,
  data: z.string().optional().describe('the result itself; the summary stands for it where it is left out'),
  summary: z.string().optional().describe('one line'),
});

const bridge = z.object({
  instance: z.string(),
  runner: z.string(),
  target: z.string(),
  task_channel: z.string(),
  done_channel: z.string(),
  concurrency: count,
  running: z.array(z.string()),
  done: count,
  failed: count,
  started_at: z.string(),
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
  done: { input: settlement, output: result },
  fail: { input: settlement, output: result },
});

export const agentSchemas = schemasFor(agents)({
  list: {
    input: z.object({}),
    output: z.object({
      agents: z.array(
        z.object({
          name: z.string(),
          kind: z.enum(['bridge', 'follower']),
          alive: z.boolean().nullable(),
          last_seen: time.nullable(),
          channels: z.array(z.string()),
          bridge: bridge.optional(),
        }),
      ),
    }),
  },
  beat: { input: bridge.extend({ name: z.string().min(1) }), output: z.null() },
  leave: {
    input: z.object({ name: z.string().min(1), instance: z.string().min(1) }),
    output: z.null(),
  },
});
