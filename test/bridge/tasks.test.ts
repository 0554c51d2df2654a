import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRelayError } from '../../src/base/errors.ts';
import type { Bridge } from '../../src/contract/agents.ts';
import type { Relay } from '../../src/contract/relay.ts';
import { TASK_GROUP } from '../../src/contract/tasks.ts';
import {
  BASE,
  type CoreUnderTest,
  callerNamed,
  claimOf,
  encode,
  openTestCore,
  readFrom,
} from '../channels/core.ts';
import { startTestServer } from '../channels/server.ts';

const push = (relay: Relay, text: string, o: { channel?: string; metadata?: Record<string, string> } = {}) =>
  relay.pointers.push({ body: encode(text), channel: 'agent-tasks', ...o });

const BRIDGE: Bridge = {
  instance: 'one',
  runner: 'exec',
  target: 'true',
  task_channel: 'agent-tasks',
  done_channel: 'agent-done',
  concurrency: 1,
  running: [],
  done: 0,
  failed: 0,
  started_at: '2026-11-15T00:00:00.000Z',
};

async function textOf(relay: Relay, url: string): Promise<string> {
  const { body } = await relay.pointers.pull(url.slice(-36));
  return new Response(body as BodyInit).text();
}

test('a task goes from queued to running to done, and its result is found by task id', async () => {
  await using under = openTestCore();
  const { relay } = under;
  const { id } = await push(relay, 'do it', { metadata: { summary: 'it' } });
  assert.equal((await relay.tasks.get(id)).state, 'queued');

  await using worker = readFrom(under.as('worker'), 'agent-tasks', { group: TASK_GROUP });
  const [message] = await worker.take(1);
  const running = await relay.tasks.get(id);
  assert.equal(running.state, 'running');
  assert.equal(running.attempt, 1);
  assert.equal(running.lease?.member, 'worker');

  const result = await under.as('worker').tasks.done(id, { data: 'all of it', summary: 'did it' });
  assert.deepEqual(
    { status: result.status, summary: result.summary, by: result.by },
    { status: 'done', summary: 'did it', by: 'worker' },
  );
  await relay.channels.ack('agent-tasks', TASK_GROUP, claimOf(message!));
  const done = await relay.tasks.get(id);
  assert.equal(done.state, 'done');
  assert.equal(done.lease, null);
  assert.equal(await textOf(relay, done.result!.url), 'all of it');
  assert.ok(done.receipts.some(({ rung }) => rung === 'result'));
});

test('the result is announced on the done channel that the sender asked for', async () => {
  await using under = openTestCore();
  const { relay } = under;
  const { id } = await push(relay, 'x', { metadata: { done_channel: 'mine' } });
  await relay.tasks.fail(id, { summary: 'no' });
  await using reader = readFrom(relay, 'mine', { since: 'all' });
  const [message] = await reader.take(1);
  assert.deepEqual(message!.metadata, { task_id: id, status: 'failed', summary: 'no' });
});

test('submitting the same result again is fine, and a different result is rejected', async () => {
  await using under = openTestCore();
  const { relay } = under;
  const { id } = await push(relay, 'x');
  const first = await relay.tasks.done(id, { summary: 'yes' });
  assert.equal((await relay.tasks.done(id, { summary: 'yes' })).url, first.url);
  await assert.rejects(relay.tasks.fail(id, { summary: 'no' }), (error) => isRelayError(error, 'conflict'));
  await assert.rejects(relay.tasks.done(id, { summary: 'other' }), (error) =>
    isRelayError(error, 'conflict'),
  );
  assert.equal((await relay.channels.inspect('agent-done')).messages, 1);
});

test('of many concurrent results for a task one wins, and it is announced once', async () => {
  await using under = openTestCore();
  const { relay } = under;
  const { id } = await push(relay, 'x');
  const tries = Array.from({ length: 10 }, (_, i) => relay.tasks.done(id, { summary: `by ${i}` }));
  const settled = await Promise.allSettled(tries);
  assert.equal(settled.filter(({ status }) => status === 'fulfilled').length, 1);
  assert.equal((await relay.channels.inspect('agent-done')).messages, 1);
});

test('a plain push with the task’s id is also a result, but only from the same tenant', async () => {
  await using under = openTestCore();
  const { relay } = under;
  const { id } = await push(relay, 'x');
  const metadata = { task_id: id, status: 'done', summary: 'stolen' };
  await push(under.as('mallory', 'other'), 'evil', { channel: 'agent-done', metadata });
  assert.equal((await relay.tasks.get(id)).state, 'queued');
  await push(relay, 'good', { channel: 'agent-done', metadata: { ...metadata, summary: 'fine' } });
  const task = await relay.tasks.get(id);
  assert.equal(task.result?.summary, 'fine');
  await assert.rejects(under.as('mallory', 'other').tasks.get(id), (error) =>
    isRelayError(error, 'not_found'),
  );
});

test('a result outlives a task with a short time to live', async () => {
  await using under = openTestCore();
  const { relay } = under;
  const { id } = await relay.pointers.push({ body: encode('x'), channel: 'agent-tasks', ttl: 60 });
  await relay.tasks.done(id, { summary: 'in time' });
  under.advance(3_600_000);
  const task = await relay.tasks.get(id);
  assert.equal(task.state, 'done');
  assert.deepEqual(task.receipts, []);
});

test('a task that ran out of attempts gets a failed result', async () => {
  await using under = openTestCore({ attempts: 2, retryMs: [] });
  const { relay } = under;
  const { id } = await push(relay, 'x');
  await using worker = readFrom(relay, 'agent-tasks', { group: TASK_GROUP });
  for (let attempt = 1; attempt <= 2; attempt++) {
    const [message] = await worker.take(1);
    await relay.channels.nack('agent-tasks', TASK_GROUP, claimOf(message!));
  }
  await under.core.background.settle();
  const task = await relay.tasks.get(id);
  assert.equal(task.state, 'failed');
  assert.match(task.result!.summary!, /after 2 attempts/);
});

test('a dead letter of another group does not fail a task', async () => {
  await using under = openTestCore({ attempts: 1 });
  const { relay } = under;
  const { id } = await push(relay, 'x');
  await using worker = readFrom(relay, 'agent-tasks', { group: 'others' });
  const [message] = await worker.take(1);
  await relay.channels.nack('agent-tasks', 'others', claimOf(message!));
  await under.core.background.settle();
  assert.equal((await relay.tasks.get(id)).result, null);
});

test('tasks are listed newest first, including those on other channels that bridges work on', async () => {
  await using under = openTestCore();
  const { relay } = under;
  await relay.agents.beat('b', { ...BRIDGE, task_channel: 'own-tasks', done_channel: 'own-done' });
  const a = await push(relay, 'a');
  under.advance(10);
  const b = await push(relay, 'b', { channel: 'own-tasks' });
  under.advance(10);
  const c = await push(relay, 'c', { channel: 'own-tasks@b' });
  await push(relay, 'noise', { channel: 'elsewhere' });
  await relay.tasks.done(b.id);
  const ids = async (o?: Parameters<Relay['tasks']['list']>[0]) =>
    (await relay.tasks.list(o)).tasks.map(({ id }) => id);
  assert.deepEqual(await ids(), [c.id, b.id, a.id]);
  assert.deepEqual(await ids({ limit: 1 }), [c.id]);
  assert.deepEqual(await ids({ state: 'done' }), [b.id]);
  assert.deepEqual(await ids({ channel: 'agent-tasks' }), [a.id]);
  assert.equal((await relay.tasks.get(b.id)).done_channel, 'own-done');
  assert.equal((await relay.tasks.get(c.id)).done_channel, 'own-done');
});

test('a task for an agent that never ran is listed, and the task of another tenant is not', async () => {
  await using under = openTestCore();
  const { id } = await push(under.relay, 'x', { channel: 'agent-tasks@absent' });
  await push(under.as('x', 'other'), 'y', { channel: 'agent-tasks@absent' });
  assert.deepEqual(
    (await under.relay.tasks.list()).tasks.map((task) => [task.id, task.state]),
    [[id, 'queued']],
  );
});

test('the list of agents shows whether each bridge is alive, and which channels each follower follows', async () => {
  await using under = openTestCore();
  const { relay } = under;
  const { id } = await push(relay, 'x');
  await relay.agents.beat('robot', { ...BRIDGE, running: [id] });
  await relay.inbox.follow('reader', 'news');
  const { agents } = await relay.agents.list();
  assert.deepEqual(
    agents.map(({ name, kind, alive, channels }) => ({ name, kind, alive, channels })),
    [
      { name: 'robot', kind: 'bridge', alive: true, channels: ['agent-tasks', 'agent-tasks@robot'] },
      { name: 'reader', kind: 'follower', alive: null, channels: ['news'] },
    ],
  );
  assert.equal((await relay.tasks.get(id)).agent, 'robot');
  under.advance(60_000);
  assert.equal((await relay.agents.list()).agents[0]!.alive, false);
  await relay.agents.leave('robot', 'one');
  assert.equal((await relay.agents.list()).agents.length, 1);
  assert.deepEqual((await under.as('x', 'other').agents.list()).agents, []);
});

test('a key limited to some channels sees only the tasks and agents of these channels', async () => {
  await using under = openTestCore();
  const { relay } = under;
  const bound = under.core.relay({ ...callerNamed('bound'), channelPrefix: 'own-' }, BASE);
  await relay.agents.beat('b', { ...BRIDGE, task_channel: 'own-tasks' });
  await relay.agents.beat('c', BRIDGE);
  const ownTask = await push(relay, 'a', { channel: 'own-tasks' });
  const other = await push(relay, 'b');
  assert.deepEqual(
    (await bound.tasks.list()).tasks.map(({ id }) => id),
    [ownTask.id],
  );
  assert.deepEqual(
    (await bound.agents.list()).agents.map(({ name }) => name),
    ['b'],
  );
  const forbidden = (error: unknown) => isRelayError(error, 'forbidden');
  await assert.rejects(bound.tasks.get(other.id), forbidden);
  await assert.rejects(bound.tasks.done(other.id), forbidden);
  await assert.rejects(bound.tasks.list({ channel: 'agent-tasks' }), forbidden);
  await assert.rejects(bound.agents.beat('mine', BRIDGE), forbidden);
});

test('tasks behave the same over HTTP', async () => {
  await using server = await startTestServer();
  const under: CoreUnderTest = server.core;
  const { id } = await push(under.relay, 'x');
  assert.equal((await server.get(`/tasks/${id}`)).json.state, 'queued');
  const done = await server.post(`/v1/tasks/${id}/done`, { data: 'out', summary: 'ok' });
  assert.equal(done.status, 200);
  assert.equal(done.json.task_id, id);
  const { json } = await server.get(`/tasks/${id}`);
  assert.equal(json.state, 'done');
  assert.deepEqual(Object.keys(json).sort(), [
    'agent',
    'attempt',
    'channel',
    'created_at',
    'done_channel',
    'from',
    'id',
    'lease',
    'metadata',
    'receipts',
    'result',
    'size',
    'state',
    'stuck',
    'summary',
    'url',
  ]);
  assert.equal((await server.get('/tasks?state=done')).json.tasks.length, 1);
  assert.equal((await server.post(`/tasks/${id}/fail`, { summary: 'no' })).status, 409);
  assert.equal((await server.get(`/tasks/${crypto.randomUUID()}`)).status, 404);
  assert.equal((await server.post('/agents/robot', BRIDGE)).status, 204);
  assert.equal((await server.get('/agents')).json.agents[0].bridge.runner, 'exec');
});
