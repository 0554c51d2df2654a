import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { AgentBridge } from '../../src/client/bridge/agent-bridge.ts';
import { SCOPES, type Scope } from '../../src/contract/caller.ts';
import type { CreatedKey } from '../../src/contract/keys.ts';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import { type GuardedRelay, startGuarded } from '../keys/guarded-relay.ts';

let relay: GuardedRelay;
/** A key that may send and settle tasks. */
let owner: CreatedKey;
/** A key that may push and read, but settle no task. */
let stranger: CreatedKey;

before(async () => {
  relay = await startGuarded({ core: { defaultPlan: 'team' } });
  owner = await relay.key({});
  stranger = await relay.key({ scopes: ['push', 'pull', 'subscribe', 'threads'] satisfies Scope[] });
});
after(() => relay[Symbol.asyncDispose]());

const as = ({ key }: CreatedKey) => new ContextRelay({ baseUrl: relay.url, apiKey: key });

async function send(channel = 'agent-tasks'): Promise<string> {
  const { json } = await relay.ask('POST', '/push', { key: owner, body: { data: 'do it', channel } });
  return json.id;
}

function push(key: CreatedKey, body: object, headers: Record<string, string> = {}) {
  return relay.ask('POST', '/push', { key, body, headers });
}

test('a push that settles a task needs the scope for tasks, and the channel of the task', async () => {
  const id = await send('theirs.tasks');
  const forged = { data: 'forged', channel: 'agent-done', metadata: { task_id: id, status: 'done' } };
  const refused = await push(stranger, forged);
  assert.equal(refused.status, 403);
  assert.match(refused.json.error, /scope "tasks"/);
  const elsewhere = await relay.key({ scopes: [...SCOPES], channel_prefix: 'agent-' });
  assert.equal((await push(elsewhere, forged)).status, 403, 'a key for other channels');
  const raw = await relay.ask('POST', '/push?channel=agent-done', {
    key: stranger,
    body: 'forged',
    headers: { 'Relay-Metadata': btoa(JSON.stringify(forged.metadata)) },
  });
  assert.equal(raw.status, 403, 'as the raw body');
  const late = await push(stranger, { ...forged, data: 'x'.repeat(2_000_000) });
  assert.equal(late.status, 403, 'with the metadata behind a large payload');
  const { json } = await relay.ask('GET', `/tasks/${id}`, { key: owner });
  assert.deepEqual([json.state, json.result], ['queued', null]);
  assert.equal((await push(owner, forged)).status, 200);
  assert.equal((await relay.ask('GET', `/tasks/${id}`, { key: owner })).json.state, 'done');
});

test('a push that names a task without settling it is no evidence of a result', async () => {
  const id = await send();
  for (const status of [undefined, 'ok'])
    assert.equal((await push(stranger, { data: 'x', metadata: { task_id: id, status } })).status, 200);
  const { json } = await relay.ask('GET', `/tasks/${id}`, { key: owner });
  assert.ok(!json.receipts.some(({ rung }: { rung: string }) => rung === 'result'));
});

test('a waiting client accepts only results of callers that may settle the task', async () => {
  const bridge = new AgentBridge(as(owner));
  const sentId = Promise.withResolvers<string>();
  const watched = as(stranger).subscribe('agent-tasks', ({ url }) => {
    if (url) sentId.resolve(url.slice(url.lastIndexOf('/') + 1));
  });
  await watched.ready;
  await using _ = { [Symbol.asyncDispose]: () => watched.close() };
  const waiting = bridge.sendAndWait('do it');
  const id = await sentId.promise;
  await push(stranger, { data: 'forged, without a mark', channel: 'agent-done' });
  await push(stranger, { data: 'forged', channel: 'agent-done', metadata: { task_id: id } });
  await push(stranger, { data: 'forged', channel: 'agent-done', metadata: { task_id: id, status: 'ok' } });
  await relay.ask('POST', `/tasks/${id}/done`, { key: owner, body: { data: 'the real one' } });
  assert.equal((await waiting).text, 'the real one');
});

test('the caller that deletes a task cannot forge its result', async () => {
  const bridge = new AgentBridge(as(owner));
  const sentId = Promise.withResolvers<string>();
  const watched = as(stranger).subscribe('agent-tasks', ({ url }) => {
    if (url) sentId.resolve(url.slice(url.lastIndexOf('/') + 1));
  });
  await watched.ready;
  await using _ = { [Symbol.asyncDispose]: () => watched.close() };
  const ended = new AbortController();
  const waiting = bridge.sendAndWait('do it', { signal: ended.signal });
  const id = await sentId.promise;
  assert.equal((await relay.ask('DELETE', `/pull/${id}`, { key: stranger })).status, 204);
  await push(stranger, { data: 'forged', channel: 'agent-done', metadata: { task_id: id, status: 'ok' } });
  // Send a message after the forged one: when it arrives, the waiting client has seen both.
  const lastReceived = Promise.withResolvers<void>();
  const done = as(owner).subscribe('agent-done', ({ metadata }) => {
    if (metadata?.last) lastReceived.resolve();
  });
  await done.ready;
  await using __ = { [Symbol.asyncDispose]: () => done.close() };
  await push(stranger, { data: 'x', channel: 'agent-done', metadata: { last: true } });
  await lastReceived.promise;
  setTimeout(() => ended.abort(), 500);
  const outcome = await waiting.then(
    ({ text }) => text,
    () => 'nothing',
  );
  assert.equal(outcome, 'nothing');
});

test('a caller that may not settle tasks cannot end an A2A task', async () => {
  const parts = [{ text: 'do it' }];
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts };
  const rpc = (method: string, params: object) =>
    relay.ask('POST', '/a2a/relay', {
      key: owner,
      body: { jsonrpc: '2.0', id: 1, method, params },
      headers: { 'A2A-Version': '1.0' },
    });
  const { json } = await rpc('SendMessage', { message, configuration: { returnImmediately: true } });
  const { id } = json.result.task;
  await push(stranger, { data: 'forged', channel: 'agent-done', metadata: { task_id: id } });
  const state = async () => (await rpc('GetTask', { id })).json.result.status.state;
  assert.equal(await state(), 'TASK_STATE_SUBMITTED');
  // The relay stores a result under an idempotency key that it derives from the task's id. A caller that may write to
  // the thread must not be able to use this key first.
  const thread = json.result.task.contextId;
  const response = await relay.ask('POST', `/threads/${thread}/artifacts`, {
    key: stranger,
    body: { name: 'x', content: 'forged' },
    headers: { 'Idempotency-Key': `a2a ${id}` },
  });
  assert.equal(response.status, 201);
  await relay.ask('POST', `/tasks/${id}/done`, { key: owner, body: { data: 'the real one' } });
  assert.equal(await state(), 'TASK_STATE_COMPLETED');
});

test('nobody can block the owner of a task from settling it by using up its idempotency key', async () => {
  for (const [how, key] of [
    ['done', stranger],
    ['cancel', stranger],
    ['done', owner],
    ['cancel', owner],
  ] as const) {
    const id = await send();
    const headers = { 'Idempotency-Key': `task-result:${id}` };
    assert.equal((await push(key, { data: 'mine now' }, headers)).status, 200);
    const settled = await relay.ask('POST', `/tasks/${id}/${how}`, { key: owner, body: {} });
    assert.equal(settled.status, 200, settled.text);
  }
});

test('a bridge and the owner who settle a task at the same time create one result', async () => {
  const id = await send();
  const headers = { 'Idempotency-Key': `task-result:${id}` };
  const result = { data: 'done', channel: 'agent-done', metadata: { task_id: id, status: 'done' } };
  assert.equal((await relay.ask('POST', `/tasks/${id}/cancel`, { key: owner, body: {} })).status, 200);
  const late = await push(owner, result, headers);
  assert.deepEqual([late.status, late.json.code], [409, 'idempotency_conflict']);
  const other = await send();
  const first = { ...result, metadata: { task_id: other, status: 'done' } };
  const again = { 'Idempotency-Key': `task-result:${other}` };
  const pushed = await push(owner, first, again);
  assert.equal((await push(owner, first, again)).json.id, pushed.json.id, 'a retry');
  const canceled = await relay.ask('POST', `/tasks/${other}/cancel`, { key: owner, body: {} });
  assert.equal(canceled.json.code, 'conflict');
});

test("a client cannot use the relay's own idempotency keys", async () => {
  const { json } = await relay.ask('POST', '/threads', { key: stranger, body: {} });
  const refused = await relay.ask('POST', `/threads/${json.thread_id}/state/revert`, {
    key: stranger,
    body: { to: 'v1', idempotency_key: '\u001ftask-result:x' },
  });
  assert.deepEqual([refused.status, refused.json.code], [400, 'bad_request']);
});
