import assert from 'node:assert/strict';
import { test } from 'node:test';
import { webhookPost } from '../../src/app/serve/outbound.ts';
import { hasOutboxEntries } from '../../src/interfaces/a2a/outbox-records.ts';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import { serve } from '../channels/programs.ts';
import { temporaryHome } from '../cli/program.ts';
import { startRelay } from '../http/relay-under-test.ts';
import { until } from '../until.ts';
import { a2aClient, answerTasks, BINDINGS, request } from './agents.ts';
import { receiver, webhookAt } from './receiver.ts';

for (const binding of BINDINGS) {
  test(`a webhook is notified of a task's progress (${binding})`, async () => {
    await using relay = await startRelay({ server: { loopbackWebhooks: true } });
    await using hook = await receiver();
    const client = await a2aClient(relay.url, binding);
    const messageRequest = request('tell me', { immediately: true });
    messageRequest.configuration!.taskPushNotificationConfig = { ...webhookAt(hook.url), token: 's3cret' };
    const task = await client.sendMessage(messageRequest);
    assert.ok('artifacts' in task);
    await using _bridge = answerTasks(relay.url, () => 'told');
    await hook.until('TASK_STATE_COMPLETED');
    assert.match(hook.received.map(({ body }) => body).join('\n'), /artifactUpdate/);
    assert.equal(hook.received[0]!.headers['x-a2a-notification-token'], 's3cret');
  });

  test(`webhooks are added, listed, looked up and removed (${binding})`, async () => {
    await using relay = await startRelay({ server: { loopbackWebhooks: true } });
    const client = await a2aClient(relay.url, binding);
    const task = await client.sendMessage(request('later', { immediately: true }));
    assert.ok('artifacts' in task);
    const about = { tenant: '', taskId: task.id };
    const hook = {
      ...about,
      id: 'mine',
      url: 'http://127.0.0.1:9/hook',
      token: '',
      authentication: undefined,
    };
    await client.createTaskPushNotificationConfig(hook);
    const listed = await client.listTaskPushNotificationConfig({ ...about, pageSize: 0, pageToken: '' });
    assert.deepEqual(
      listed.configs.map(({ id }) => id),
      ['mine'],
    );
    assert.equal((await client.getTaskPushNotificationConfig({ ...about, id: 'mine' })).url, hook.url);
    await client.deleteTaskPushNotificationConfig({ ...about, id: 'mine' });
    await assert.rejects(client.getTaskPushNotificationConfig({ ...about, id: 'mine' }));
  });
}

test('a webhook in the local network is refused', async () => {
  await using relay = await startRelay();
  await using hook = await receiver();
  const client = await a2aClient(relay.url, 'JSONRPC');
  const task = await client.sendMessage(request('x', { immediately: true }));
  assert.ok('artifacts' in task);
  for (const url of [
    hook.url,
    'http://localhost:1/',
    'http://169.254.169.254/latest',
    'http://[::1]/',
    'file:///etc/passwd',
  ]) {
    const config = { tenant: '', id: '', taskId: task.id, url, token: '', authentication: undefined };
    await assert.rejects(client.createTaskPushNotificationConfig(config), /not allowed/, url);
  }
  assert.equal(hook.received.length, 0);
});

test('an operator can allow webhooks on this machine, but nowhere else in the local network', async () => {
  using home = temporaryHome();
  await using served = await serve(home.home, { flags: ['--loopback-webhooks'] });
  await using hook = await receiver();
  const client = await a2aClient(served.url, 'JSONRPC');
  const task = await client.sendMessage(request('x', { immediately: true }));
  assert.ok('artifacts' in task);
  const add = (url: string) =>
    client.createTaskPushNotificationConfig({ ...webhookAt(url), taskId: task.id });
  await add(hook.url);
  await add(hook.url.replace('127.0.0.1', 'localhost'));
  for (const url of ['http://10.0.0.1/', 'http://169.254.169.254/latest', 'http://[fd00::1]/'])
    await assert.rejects(add(url), /not allowed/, url);
  await using _bridge = answerTasks(served.url, () => 'told');
  await hook.until('TASK_STATE_COMPLETED');
});

test('a webhook with an unknown host name is accepted, and its address is checked on sending', async () => {
  const { check, post } = webhookPost({ loopback: false });
  await check('https://nowhere.invalid/hook');
  await assert.rejects(post('https://nowhere.invalid/hook', { headers: {}, body: 'x' }));
});

test('a host name that resolves into the local network is refused on connecting', async () => {
  const { post } = webhookPost({ loopback: false });
  await using hook = await receiver();
  const url = hook.url.replace('127.0.0.1', 'localhost');
  await assert.rejects(post(url, { headers: {}, body: 'x' }), /not an address of the public internet/);
  assert.equal(hook.received.length, 0);
});

test('the end of a task is sent again to a webhook that failed', async () => {
  await using relay = await startRelay({ server: { loopbackWebhooks: true } });
  await using hook = await receiver({ refusing: 1 });
  const client = await a2aClient(relay.url, 'JSONRPC');
  const messageRequest = request('tell me', { immediately: true });
  messageRequest.configuration!.taskPushNotificationConfig = webhookAt(hook.url);
  await client.sendMessage(messageRequest);
  await using _bridge = answerTasks(relay.url, () => 'told');
  await hook.until('TASK_STATE_COMPLETED');
});

test('a webhook is notified of each change once, also if other webhooks were added at another server', async () => {
  await using relay = await startRelay({ server: { loopbackWebhooks: true } });
  await using other = await startRelay({ open: () => relay.engine, server: { loopbackWebhooks: true } });
  await using first = await receiver();
  await using second = await receiver();
  const messageRequest = request('tell us', { immediately: true });
  messageRequest.configuration!.taskPushNotificationConfig = webhookAt(first.url);
  const task = await (await a2aClient(relay.url, 'JSONRPC')).sendMessage(messageRequest);
  assert.ok('artifacts' in task);
  const otherClient = await a2aClient(other.url, 'JSONRPC');
  await otherClient.createTaskPushNotificationConfig({ ...webhookAt(second.url), taskId: task.id });
  const ownClient = new ContextRelay({ baseUrl: relay.url });
  const [queued] = (await ownClient.tasks.list({ state: 'queued' })).tasks;
  await ownClient.pull(queued!.url);
  for (const hook of [first, second]) await hook.until('TASK_STATE_WORKING');
  const metadata = { task_id: task.id, status: 'done' };
  await ownClient.push('done', { channel: 'agent-done', metadata });
  for (const hook of [first, second]) await hook.until('TASK_STATE_COMPLETED');
  await until(async () => !(await hasOutboxEntries(relay.core.deps)));
  for (const { received } of [first, second]) {
    const changes = received.map(({ body }) => /TASK_STATE_\w+|artifactUpdate/.exec(body)![0]);
    assert.deepEqual(changes, ['TASK_STATE_WORKING', 'artifactUpdate', 'TASK_STATE_COMPLETED']);
  }
});
