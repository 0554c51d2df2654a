import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { loadConfig } from '../../src/app/config.ts';
import { openCore } from '../../src/app/store/open-core.ts';
import { openRelay } from '../../src/app/store/open-relay.ts';
import { hasOutboxEntries } from '../../src/interfaces/a2a/outbox-records.ts';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import { type Running, serve, start } from '../channels/programs.ts';
import { temporaryHome } from '../cli/program.ts';
import { until } from '../until.ts';
import { a2aClient, answerTasks, request, resultOf, stateOf } from './agents.ts';
import { receiver, webhookAt } from './receiver.ts';

test('an acknowledged result belongs to the task even if the server is killed right after', async () => {
  using place = temporaryHome();
  const first = await serve(place.home);
  const client = await a2aClient(first.url, 'HTTP+JSON');
  const task = await client.sendMessage(request('quick', { immediately: true }));
  assert.ok('artifacts' in task);
  const bridge = new ContextRelay({ baseUrl: first.url });
  const metadata = { task_id: task.id, status: 'done', summary: 'did it' };
  await bridge.push('the result', { channel: 'agent-done', metadata });
  first.child.kill('SIGKILL');
  await first.ended;
  await using second = await serve(place.home);
  const again = await a2aClient(second.url, 'HTTP+JSON');
  const restoredTask = await again.getTask({ tenant: '', id: task.id, historyLength: 0 });
  assert.equal(stateOf(restoredTask), 'completed');
  assert.equal(resultOf(restoredTask), 'the result');
});

const SERVER = resolve(import.meta.dirname, 'scripts/server.ts');

/** Starts a server in its own process, so that the test can kill it. The server may call webhooks on this machine. */
async function startWithWebhooks(home: string, env = {}): Promise<Running & { url: string }> {
  const running = start([], { home, env, entry: SERVER });
  return { ...running, url: (await running.waitForOutput(/listening on (http:\S+)/))[1]! };
}

async function kill({ child, ended }: Running): Promise<void> {
  child.kill('SIGKILL');
  await ended;
}

/** Sends a task with a webhook. No agent takes the task. Returns its id. */
async function giveTask(url: string, hook: string): Promise<string> {
  const messageRequest = request('tell me', { immediately: true });
  messageRequest.configuration!.taskPushNotificationConfig = webhookAt(hook);
  const task = await (await a2aClient(url, 'HTTP+JSON')).sendMessage(messageRequest);
  assert.ok('artifacts' in task);
  return task.id;
}

test("after a kill, the next server notifies webhooks of the task's progress", async () => {
  using place = temporaryHome();
  await using hook = await receiver();
  const first = await startWithWebhooks(place.home);
  const id = await giveTask(first.url, hook.url);
  await kill(first);
  await using second = await startWithWebhooks(place.home);
  await using _bridge = answerTasks(second.url, () => 'told after all');
  const all = () => hook.received.map(({ body }) => body).join('\n');
  await hook.until('TASK_STATE_COMPLETED');
  assert.match(all(), /told after all/);
  assert.ok(all().includes(id));
});

test('webhooks are notified once of a task that ended while no server ran', async () => {
  using place = temporaryHome();
  await using hook = await receiver();
  const first = await startWithWebhooks(place.home);
  const id = await giveTask(first.url, hook.url);
  await kill(first);
  {
    await using open = await openRelay(loadConfig({}, { home: place.home }));
    const metadata = { task_id: id, status: 'done', summary: 'did it' };
    await (await open.client()).push('done in the dark', { channel: 'agent-done', metadata });
  }
  const second = await startWithWebhooks(place.home);
  // The server must deliver without a request from a client.
  await hook.until('TASK_STATE_COMPLETED');
  assert.match(hook.received[0]!.body, /done in the dark/);
  assert.match(hook.received[1]!.body, /TASK_STATE_COMPLETED/);
  // Wait until the webhook's answer is stored. Then the outbox is empty.
  await untilOutboxIsEmpty(place.home);
  await kill(second);
  await using third = await startWithWebhooks(place.home);
  await giveTask(third.url, hook.url);
  await using _bridge = answerTasks(third.url, () => 'another');
  await hook.until('another');
  assert.equal(hook.received.filter(({ body }) => body.includes(id)).length, 2);
});

test('the next server refuses webhooks in the local network too', async () => {
  using place = temporaryHome();
  await using hook = await receiver();
  const first = await startWithWebhooks(place.home);
  await giveTask(first.url, hook.url);
  await kill(first);
  await using second = await startWithWebhooks(place.home, { GUARDED: '1' });
  await using _bridge = answerTasks(second.url, () => 'not for you');
  await second.waitForOutput(/is not an address of the public internet/);
  assert.equal(hook.received.length, 0);
});

async function untilOutboxIsEmpty(home: string): Promise<void> {
  await using open = await openCore(loadConfig({}, { home }), 'cli');
  await until(async () => !(await hasOutboxEntries(open.core.deps)));
}
