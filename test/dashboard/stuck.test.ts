import assert from 'node:assert/strict';
import { test } from 'node:test';
import { httpRelay } from '../../src/sdk/http-relay.ts';
import { pushJson, startRelay } from '../http/relay-under-test.ts';

const bridge = (running: string[], stuck?: { [task: string]: string }) => ({
  instance: 'one',
  runner: 'exec',
  target: 'true',
  task_channel: 'agent-tasks',
  done_channel: 'agent-done',
  concurrency: 1,
  running,
  done: 0,
  failed: 0,
  started_at: '2026-01-01T00:00:00Z',
  ...(stuck && { stuck }),
});

test('a task that no agent claims is flagged, and so is a bridge that stops responding during a task', async () => {
  await using relay = await startRelay();
  const api = httpRelay({ baseUrl: relay.url });
  const { answer } = await pushJson(relay, { data: 'x', channel: 'agent-tasks' });
  assert.equal((await api.tasks.get(answer.id)).stuck, null);
  relay.advance(61_000);
  assert.equal((await api.tasks.get(answer.id)).stuck, 'No bridge serves the channel agent-tasks.');
  await api.agents.beat('ann', bridge([]));
  const state = async () => (await api.agents.list()).agents[0]!.state;
  assert.equal((await api.tasks.list()).tasks[0]!.stuck, null);
  assert.equal(await state(), 'idle');
  await api.agents.beat('ann', bridge([answer.id]));
  assert.equal(await state(), 'working');
  relay.advance(60_000);
  assert.equal(await state(), 'stuck');
  await api.agents.beat('ann', bridge([]));
  relay.advance(60_000);
  assert.equal(await state(), 'silent');
});

test('a bridge is stuck if it reports why a task does not progress, and only for tasks that it runs', async () => {
  await using relay = await startRelay();
  const api = httpRelay({ baseUrl: relay.url });
  const ann = async () => (await api.agents.list()).agents[0]!;
  await api.agents.beat('ann', bridge(['one', 'two'], { two: 'x'.repeat(2_000), three: 'not its own' }));
  assert.deepEqual([(await ann()).state, (await ann()).bridge!.stuck], ['stuck', { two: 'x'.repeat(600) }]);
  await api.agents.beat('ann', bridge(['one', 'two']));
  assert.deepEqual([(await ann()).state, (await ann()).bridge!.stuck], ['working', undefined]);
});
