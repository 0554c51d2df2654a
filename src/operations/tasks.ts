import { z } from 'zod';
import { defineOperation } from './operation.ts';
import { jsonObject, pointerId } from './shapes.ts';

const moment = z.iso.datetime();
const state = z.enum(['queued', 'running', 'acked', 'done', 'failed']);

const result = z.object({
  task_id: pointerId,
  url: z.url(),
  status: z.enum(['done', 'failed']),
  summary: z.string().nullable(),
  by: z.string(),
  at: moment,
});

const taskInfo = z.object({
  id: pointerId,
  url: z.url(),
  channel: z.string(),
  done_channel: z.string(),
  from: z.string(),
  created_at: moment,
  state,
  attempt: z.number().int(),
  summary: z.string().nullable(),
  agent: z.string().nullable(),
  lease: z
    .object({ group: z.string(), member: z.string(), attempt: z.number().int(), lease_until: moment })
    .nullable(),
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
  concurrency: z.number().int(),
  running: z.array(z.string()),
  done: z.number().int(),
  failed: z.number().int(),
  started_at: z.string(),
});

export const taskOperations = [
  defineOperation({
    name: 'tasks.list',
    summary: 'The tasks on the task channels, newest first',
    scope: 'tasks',
    input: z.object({
      channel: z.string().min(1).optional(),
      state: state.optional(),
      limit: z.coerce.number().int().optional(),
    }),
    output: z.object({ tasks: z.array(taskInfo) }),
    http: { method: 'GET', path: '/tasks' },
    run: async (relay, query) => ({ tasks: [...(await relay.tasks.list(query)).tasks] }),
  }),
  defineOperation({
    name: 'tasks.get',
    summary: 'A task: its state, lease, receipts and result',
    scope: 'tasks',
    input: z.object({ id: pointerId }),
    output: taskInfo.extend({
      size: z.number().int(),
      metadata: jsonObject,
      receipts: z.array(z.looseObject({ rung: z.string() })),
    }),
    http: { method: 'GET', path: '/tasks/:id' },
    run: async (relay, { id }) => {
      const task = await relay.tasks.get(id);
      return { ...task, receipts: task.receipts.map((each) => ({ ...each })) };
    },
  }),
  defineOperation({
    name: 'tasks.done',
    summary: 'Bring the result of a task',
    scope: 'tasks',
    input: settlement,
    output: result,
    http: { method: 'POST', path: '/tasks/:id/done' },
    run: (relay, { id, ...o }) => relay.tasks.done(id, o),
  }),
  defineOperation({
    name: 'tasks.fail',
    summary: 'Say that a task could not be done, and why',
    scope: 'tasks',
    input: settlement,
    output: result,
    http: { method: 'POST', path: '/tasks/:id/fail' },
    run: (relay, { id, ...o }) => relay.tasks.fail(id, o),
  }),
  defineOperation({
    name: 'agents.list',
    summary: 'Who is there: bridges and followers, with their last sign of life',
    scope: 'tasks',
    input: z.object({}),
    output: z.object({
      agents: z.array(
        z.object({
          name: z.string(),
          kind: z.enum(['bridge', 'follower']),
          alive: z.boolean().nullable(),
          last_seen: moment.nullable(),
          channels: z.array(z.string()),
          bridge: bridge.optional(),
        }),
      ),
    }),
    http: { method: 'GET', path: '/agents' },
    run: async (relay) => {
      const { agents } = await relay.agents.list();
      return {
        agents: agents.map(({ bridge, ...agent }) => ({
          ...agent,
          channels: [...agent.channels],
          ...(bridge ? { bridge: { ...bridge, running: [...bridge.running] } } : {}),
        })),
      };
    },
  }),
  defineOperation({
    name: 'agents.beat',
    summary: 'A bridge’s heartbeat',
    scope: 'tasks',
    input: bridge.extend({ name: z.string().min(1) }),
    output: z.null(),
    http: { method: 'POST', path: '/agents/:name', status: 204 },
    run: async (relay, { name, ...o }) => {
      await relay.agents.beat(name, o);
      return null;
    },
  }),
  defineOperation({
    name: 'agents.leave',
    summary: 'A bridge goes',
    scope: 'tasks',
    input: z.object({ name: z.string().min(1), instance: z.string().min(1) }),
    output: z.null(),
    http: { method: 'DELETE', path: '/agents/:name/:instance', status: 204 },
    run: async (relay, { name, instance }) => {
      await relay.agents.leave(name, instance);
      return null;
    },
  }),
];
