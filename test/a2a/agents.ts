import assert from 'node:assert/strict';
import type { Message, SendMessageRequest, Task } from '@a2a-js/sdk';
import { Role, TaskState } from '@a2a-js/sdk';
import { type Client, ClientFactory, ClientFactoryOptions } from '@a2a-js/sdk/client';
import type { JsonObject } from '../../src/base/json.ts';
import { AgentBridge } from '../../src/client/bridge/agent-bridge.ts';
import type { Job, Runner } from '../../src/client/bridge/runner.ts';
import { parsePointer } from '../../src/contract/pointer-url.ts';
import type { Relay } from '../../src/contract/relay.ts';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import type { RelayUnderTest } from '../http/relay-under-test.ts';
import { until } from '../until.ts';

export const BINDINGS = ['JSONRPC', 'HTTP+JSON'] as const;
export type Binding = (typeof BINDINGS)[number];

/** Connects the official A2A client over one of the two bindings. */
export function a2aClient(url: string, binding: Binding, agent = ''): Promise<Client> {
  const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    preferredTransports: [binding],
  });
  return new ClientFactory(options).createFromUrl(`${url}/${agent}`);
}

export function request(
  text: string,
  o: { immediately?: boolean; contextId?: string; taskId?: string; messageId?: string } = {},
): SendMessageRequest {
  return {
    tenant: '',
    message: message(text, o),
    configuration: {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      returnImmediately: o.immediately ?? false,
    },
    metadata: undefined,
  };
}

function message(text: string, o: { contextId?: string; taskId?: string; messageId?: string }): Message {
  return {
    messageId: o.messageId ?? crypto.randomUUID(),
    contextId: o.contextId ?? '',
    taskId: o.taskId ?? '',
    role: Role.ROLE_USER,
    parts: [
      { content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: 'text/plain' },
    ],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
}

export function stateOf(task: Pick<Task, 'status'>): string {
  return TaskState[task.status!.state].replace('TASK_STATE_', '').toLowerCase();
}

export function resultOf(task: Task): string {
  const content = task.artifacts[0]?.parts[0]?.content;
  return content?.$case === 'text' || content?.$case === 'url' ? content.value : '';
}

/** Returns the threads API of a relay in open mode. */
export function threadsOf({ core, url }: RelayUnderTest): Relay['threads'] {
  return core.relay({ tenant: 'local', keyId: 'local', name: 'local', scopes: ['threads'] }, url).threads;
}

/** Asserts that an answer is a task, and returns it. */
export function taskOf(answer: Task | Message): Task {
  assert.ok('artifacts' in answer, 'a message is no task');
  return answer;
}

/** Starts a real bridge to an agent in this process. `answer` returns the agent's answers in A2A JSON. */
export async function startAgent(
  url: string,
  answer: (job: Job) => JsonObject | Promise<JsonObject>,
): Promise<AsyncDisposable & { readonly jobs: Job[] }> {
  const jobs: Job[] = [];
  const runner: Runner = {
    kind: 'exec',
    target: 'test',
    async run(job) {
      jobs.push(job);
      return { output: JSON.stringify({ a2a: '1.0', ...(await answer(job)) }) };
    },
    close: async () => {},
  };
  const worker = await new AgentBridge(new ContextRelay({ baseUrl: url }), { runner }).start();
  return { jobs, [Symbol.asyncDispose]: () => worker.stop() };
}

/** Builds an answer in A2A JSON with a state, a text and artifacts. */
export const says = (state: string, text: string, artifacts: JsonObject[] = []): JsonObject => ({
  task: {
    status: { state: `TASK_STATE_${state}`, message: { parts: [{ text }] } },
    artifacts,
  },
});

/** Counts the members of the group `bridges`. Returns 0 if the relay has stopped. */
async function members(relay: ContextRelay): Promise<number> {
  const detail = await relay.channels.inspect('agent-tasks').catch(() => null);
  return detail?.groups.find(({ name }) => name === 'bridges')?.members.length ?? 0;
}

/** A minimal bridge: reads tasks from the channel and answers them. */
export function answerTasks(
  url: string,
  work: (task: string) => string | Uint8Array | Promise<string | Uint8Array>,
): AsyncDisposable {
  const relay = new ContextRelay({ baseUrl: url });
  const stop = new AbortController();
  const working = (async () => {
    const tasks = relay.channels.subscribe('agent-tasks', {
      group: 'bridges',
      since: 'all',
      signal: stop.signal,
    });
    for await (const { url: task, seq, token } of tasks) {
      const task_id = parsePointer(task!).id;
      try {
        const result = await work(await relay.pull(task!));
        await relay.push(result, {
          channel: 'agent-done',
          metadata: { task_id, status: 'done', summary: 'did it' },
        });
      } catch (error) {
        const summary = (error as Error).message;
        await relay.push(summary, {
          channel: 'agent-done',
          metadata: { task_id, status: 'failed', summary },
        });
      }
      await relay.channels.ack('agent-tasks', 'bridges', { seq, token: token! });
    }
  })().catch((error) => {
    if (!stop.signal.aborted) throw error;
  });
  return {
    async [Symbol.asyncDispose]() {
      const before = await members(relay);
      stop.abort();
      await working;
      // Wait until the relay has removed this member from the group. Otherwise the relay may lease the next task to
      // this member.
      await until(async () => before === 0 || (await members(relay)) < before);
    },
  };
}
