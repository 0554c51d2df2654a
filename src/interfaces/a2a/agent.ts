import type {
  AgentCard,
  SendMessageRequest,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk';
import { RequestMalformedError, TaskNotFoundError, UnsupportedOperationError } from '@a2a-js/sdk/errors';
import type { A2ARequestHandler, ServerCallContext } from '@a2a-js/sdk/server';
import { A2A_WAIT_MS } from '../../base/limits.ts';
import { a2a } from '../../contract/a2a.ts';
import { authorize, hasMade, may } from '../../contract/authorize.ts';
import type { FromRecord, Verb } from '../../contract/verb.ts';
import type { AgentEntry } from './card.ts';
import {
  agentMessage,
  changes,
  isOver,
  STATES,
  type TaskRecord,
  toTask,
  type Webhook,
} from './task-record.ts';
import type { TaskService } from './task-service.ts';
import type { Webhooks } from './webhooks.ts';

interface AgentOptions {
  readonly agent: AgentEntry;
  readonly card: AgentCard;
  readonly tasks: TaskService;
  /** Aborted when the client disconnects, the API key is revoked, or the server stops. */
  readonly signal: AbortSignal;
  readonly webhooks: Webhooks;
}

/**
 * Creates the A2A request handler of one agent, for one request. It keeps no state: all state is in the
 * store.
 */
export function relayAgent({ agent, card, tasks, signal, webhooks }: AgentOptions): A2ARequestHandler {
  const { caller, base } = tasks;

  async function submit(params: SendMessageRequest, context: ServerCallContext): Promise<TaskRecord> {
    const { task_channel: channel, done_channel } = agent;
    authorize(caller, a2a.send, { channel, done_channel });
    const webhook = params.configuration?.taskPushNotificationConfig;
    if (webhook?.url) await webhooks.check(webhook.url);
    const task = params.message?.taskId ? await find(a2a.send, params.message.taskId) : null;
    const record = task ? await tasks.proceed(agent, task, params) : await tasks.submit(agent, params);
    if (!webhook?.url) return record;
    // A client that repeats a message names its webhook again. Do not add the webhook twice, but follow the task again:
    // the server that followed it may have stopped.
    if (record.webhooks.some(({ config }) => config.url === webhook.url)) webhooks.follow(record, tasks);
    else await webhooks.add({ ...webhook, taskId: record.id }, context.requestedVersion, record, tasks);
    return record;
  }

  /**
   * Streams the changes of a task until the task is over. With `answered`, the stream also ends when the
   * agent asks for input.
   */
  async function* stream(
    first: TaskRecord,
    o: { readonly answered: boolean },
  ): AsyncGenerator<StreamResponse, void, undefined> {
    let last: TaskRecord | null = null;
    for await (const record of tasks.follow(first, signal, o)) {
      if (last) yield* changes(record, base, last);
      else yield { payload: { $case: 'task', value: renderTask(record) } };
      last = record;
    }
  }

  /**
   * Finds a task of this agent. A task on a channel that the caller's API key may not use counts as not
   * found.
   */
  async function find(verb: Verb, id: string): Promise<TaskRecord> {
    if (!id.trim()) throw new RequestMalformedError('id is required');
    const record = await tasks.find(id);
    if (record.agent === agent.name && may(caller, verb, channelsOf(record))) return record;
    throw new TaskNotFoundError(`Task not found: ${id}`);
  }

  /**
   * Returns the channels of the task. Task records of version 0.1.0 name no task channel; for them, returns the current
   * one of the agent.
   */
  function channelsOf({ task_channel, done_channel }: TaskRecord): FromRecord {
    return { channel: task_channel ?? agent.task_channel, done_channel };
  }

  function renderTask(record: TaskRecord, historyLength?: number): Task {
    const task = toTask(record, base);
    if (historyLength === undefined) return task;
    return { ...task, history: historyLength > 0 ? task.history.slice(-historyLength) : [] };
  }

  /** Hides the secrets of a webhook, including the path of its URL, from callers that did not add it. */
  function configFor({ config, key }: Webhook): TaskPushNotificationConfig {
    if (hasMade(caller, key)) return config;
    const { authentication } = config;
    return {
      ...config,
      url: new URL('/', config.url).href,
      token: '',
      ...(authentication ? { authentication: { ...authentication, credentials: '' } } : {}),
    };
  }

  return {
    getAgentCard: async () => card,

    getAuthenticatedExtendedAgentCard: async () => {
      throw new UnsupportedOperationError('There is no extended card. The public card is complete.');
    },

    async sendMessage(params, context) {
      let record = await submit(params, context);
      if (!params.configuration?.returnImmediately) {
        const until = AbortSignal.any([signal, AbortSignal.timeout(A2A_WAIT_MS)]);
        for await (const now of tasks.follow(record, until, { answered: true })) record = now;
      }
      const message = record.direct ? agentMessage(record, base) : undefined;
      return message ?? renderTask(record, params.configuration?.historyLength);
    },

    async *sendMessageStream(params, context) {
      yield* stream(await submit(params, context), { answered: true });
    },

    async *resubscribe({ id }) {
      const record = await find(a2a.subscribe, id);
      if (isOver(record)) throw new UnsupportedOperationError(`The task has ended: ${record.state}.`);
      yield* stream(record, { answered: false });
    },

    getTask: async ({ id, historyLength }) => renderTask(await find(a2a.get, id), historyLength),

    async listTasks(params) {
      const pageSize = params.pageSize ?? 50;
      if (!Number.isInteger(pageSize) || pageSize < 1 || pageSize > 100)
        throw new RequestMalformedError('pageSize must be between 1 and 100');
      const after = params.statusTimestampAfter ? Date.parse(params.statusTimestampAfter) : 0;
      const all = await tasks.list(
        (record) =>
          record.agent === agent.name &&
          may(caller, a2a.list, channelsOf(record)) &&
          (!params.contextId || record.context_id === params.contextId) &&
          (!params.status || STATES[record.state] === params.status) &&
          Date.parse(record.at) >= after,
      );
      const start = params.pageToken ? Math.max(0, Number.parseInt(params.pageToken, 10) || 0) : 0;
      const page = await Promise.all(all.slice(start, start + pageSize).map(({ id }) => tasks.find(id)));
      const end = start + page.length;
      return {
        tasks: page.map((record) => {
          const task = renderTask(record, params.historyLength ?? 0);
          return params.includeArtifacts ? task : { ...task, artifacts: [] };
        }),
        nextPageToken: end < all.length ? String(end) : '',
        pageSize,
        totalSize: all.length,
      };
    },

    async cancelTask({ id }) {
      return renderTask(await tasks.cancel(await find(a2a.cancel, id)));
    },

    async createTaskPushNotificationConfig(params, context) {
      const record = await find(a2a.addWebhook, params.taskId);
      await webhooks.check(params.url);
      return webhooks.add(params, context.requestedVersion, record, tasks);
    },

    async getTaskPushNotificationConfig({ taskId, id }) {
      const { webhooks } = await find(a2a.getWebhook, taskId);
      const found = webhooks.find(({ config }) => config.id === id);
      if (!found) throw new TaskNotFoundError(`The task has no webhook ${id}.`);
      return configFor(found);
    },

    async listTaskPushNotificationConfigs({ taskId }) {
      const { webhooks } = await find(a2a.listWebhooks, taskId);
      return { configs: webhooks.map(configFor), nextPageToken: '' };
    },

    async deleteTaskPushNotificationConfig({ taskId, id }) {
      await find(a2a.removeWebhook, taskId);
      await tasks.change(taskId, (now) => ({
        ...now,
        webhooks: now.webhooks.filter(({ config }) => config.id !== id),
      }));
    },
  };
}
