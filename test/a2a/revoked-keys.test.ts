import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type GuardedRelay, startGuarded } from '../keys/guarded-relay.ts';
import { until } from '../until.ts';
import { receiver, webhookAt } from './receiver.ts';

const ADMIN = { tenant: 'acme', keyId: 'local', name: 'admin', scopes: ['admin'] } as const;
const A2A = { 'A2A-Version': '1.0' };

function message(text: string) {
  return { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] };
}

async function tasks(relay: GuardedRelay, key: string): Promise<number> {
  return (await relay.ask('GET', '/a2a/relay/tasks', { key, headers: A2A })).json.tasks.length;
}

test('a send that waits for its result ends when its key is revoked, here or in another process', async () => {
  await using relay = await startGuarded({ core: { defaultPlan: 'team' } });
  await using other = await startGuarded({ open: () => relay.engine });
  const looking = await relay.key();
  for (const revoking of [relay, other]) {
    const { id, key } = await relay.key();
    const before = await tasks(relay, looking.key);
    const params = { message: message('nobody does it') };
    const waiting = [
      relay.ask('POST', '/a2a/relay/message:send', { key, headers: A2A, body: params }),
      relay.ask('POST', '/a2a', {
        key,
        headers: A2A,
        body: { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message: message('nor this') } },
      }),
    ];
    await until(async () => (await tasks(relay, looking.key)) === before + 2);
    await revoking.core.keys.revoke(ADMIN, id);
    for (const answer of await Promise.all(waiting)) assert.equal(answer.status, 401);
  }
});

test('webhooks of a revoked key are no longer notified, others are', async () => {
  await using relay = await startGuarded({
    core: { defaultPlan: 'team' },
    server: { loopbackWebhooks: true },
  });
  await using theirs = await receiver();
  await using ours = await receiver();
  const [revoked, stays] = [await relay.key(), await relay.key()];
  const response = await relay.ask('POST', '/a2a/relay/message:send', {
    key: revoked,
    headers: A2A,
    body: {
      message: message('tell me'),
      configuration: { returnImmediately: true, taskPushNotificationConfig: webhookAt(theirs.url) },
    },
  });
  assert.equal(response.status, 200, response.text);
  const task_id = response.json.task.id;
  const added = await relay.ask('POST', `/a2a/relay/tasks/${task_id}/pushNotificationConfigs`, {
    key: stays,
    headers: A2A,
    body: { ...webhookAt(ours.url), taskId: task_id },
  });
  assert.ok(added.status < 300, added.text);
  await relay.core.keys.revoke(ADMIN, revoked.id);
  const metadata = { task_id, status: 'done', summary: 'did it' };
  await relay.ask('POST', '/push', { key: stays, body: { data: 'done', channel: 'agent-done', metadata } });
  await ours.until('TASK_STATE_COMPLETED');
  assert.equal(theirs.received.length, 0);
});
