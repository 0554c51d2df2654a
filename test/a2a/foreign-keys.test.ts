import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Scope } from '../../src/contract/caller.ts';
import type { CreatedKey } from '../../src/contract/keys.ts';
import { type GuardedRelay, startGuarded } from '../keys/guarded-relay.ts';

const TASKS_ALONE: Scope[] = ['tasks'];

let relay: GuardedRelay;
/** A key with all scopes except managing keys. */
let owner: CreatedKey;
/** A key with only the scope for tasks. */
let other: CreatedKey;

/**
 * Opens a relay for one test. At the end of the test the relay stops before its store closes. Otherwise a delivery
 * could still wait for a webhook that never answers.
 */
async function open(): Promise<AsyncDisposable> {
  relay = await startGuarded({ core: { defaultPlan: 'team' } });
  owner = await relay.key({});
  other = await relay.key({ scopes: TASKS_ALONE });
  return relay;
}

async function rpc(key: CreatedKey, method: string, params: object) {
  const body = { jsonrpc: '2.0', id: 1, method, params };
  const { json } = await relay.ask('POST', '/a2a/relay', { key, body, headers: { 'A2A-Version': '1.0' } });
  assert.ok(json.result !== undefined, JSON.stringify(json));
  return json.result;
}

async function send(key: CreatedKey, contextId?: string) {
  const message = {
    messageId: crypto.randomUUID(),
    role: 'ROLE_USER',
    parts: [{ text: 'do it' }],
    ...(contextId === undefined ? {} : { contextId }),
  };
  return (await rpc(key, 'SendMessage', { message, configuration: { returnImmediately: true } })).task;
}

const eventsOf = async (thread: string) =>
  (await relay.ask('GET', `/threads/${thread}/events`, { key: owner })).json.events as { type: string }[];

test('the secrets of a webhook are shown only to the key that added it', async () => {
  await using _ = await open();
  const { id: taskId } = await send(owner);
  const url = 'https://hook.example/in?secret=in-the-url';
  const authentication = { scheme: 'Bearer', credentials: 'credentials-of-the-owner' };
  const config = { taskId, id: 'h', url, token: 'token-of-the-owner', authentication };
  await rpc(owner, 'CreateTaskPushNotificationConfig', config);
  const asks = async (key: CreatedKey) => [
    await rpc(key, 'GetTaskPushNotificationConfig', { taskId, id: 'h' }),
    (await rpc(key, 'ListTaskPushNotificationConfigs', { taskId })).configs[0],
  ];
  for (const webhook of await asks(owner)) {
    assert.deepEqual([webhook.url, webhook.token], [url, 'token-of-the-owner']);
    assert.equal(webhook.authentication.credentials, 'credentials-of-the-owner');
  }
  for (const webhook of await asks(other)) {
    assert.equal(webhook.id, 'h');
    assert.doesNotMatch(JSON.stringify(webhook), /of-the-owner|in-the-url/);
    assert.equal(webhook.url, 'https://hook.example/');
  }
  const rest = await relay.ask('GET', `/a2a/relay/tasks/${taskId}/pushNotificationConfigs`, {
    key: other,
    headers: { 'A2A-Version': '1.0' },
  });
  assert.equal(rest.status, 200);
  assert.doesNotMatch(rest.text, /of-the-owner|in-the-url/);
});

test('a context id names a thread only for keys that may write to threads', async () => {
  await using _ = await open();
  const thread = (await relay.ask('POST', '/threads', { key: owner, body: {} })).json.thread_id;
  const before = await eventsOf(thread);
  const task = await send(other, thread);
  assert.equal(task.contextId, thread);
  assert.deepEqual(await eventsOf(thread), before, 'nothing was written to the thread');
  await relay.ask('POST', `/tasks/${task.id}/done`, { key: owner, body: { data: 'done' } });
  assert.equal((await rpc(other, 'GetTask', { id: task.id })).status.state, 'TASK_STATE_COMPLETED');
  assert.deepEqual(await eventsOf(thread), before, 'nor with the result');
  await send(owner, thread);
  assert.ok((await eventsOf(thread)).some(({ type }) => type === 'a2a.task.submitted'));
});

test('any key with the scope for tasks can continue a conversation over A2A', async () => {
  await using _ = await open();
  const begun = await send(other);
  await send(other, begun.contextId);
  await send(owner, begun.contextId);
  const submitted = (await eventsOf(begun.contextId)).filter(({ type }) => type === 'a2a.task.submitted');
  assert.equal(submitted.length, 3);
});

test('a key for other channels cannot join a foreign conversation', async () => {
  await using _ = await open();
  const bound = await relay.key({ scopes: TASKS_ALONE, channel_prefix: 'agent-' });
  const begun = await send(bound);
  await send(bound, begun.contextId);
  assert.equal((await eventsOf(begun.contextId)).filter(({ type }) => type.startsWith('a2a.')).length, 2);
  const ownTask = await send(owner, 'a name of our own');
  const same = await send(bound, 'a name of our own');
  assert.notEqual(ownTask.id, same.id);
  const elsewhere = await relay.ask('POST', '/threads', { key: owner, body: {} });
  await send(bound, elsewhere.json.thread_id);
  assert.equal((await eventsOf(elsewhere.json.thread_id)).length, 1);
});
