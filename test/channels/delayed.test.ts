import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRelayError } from '../../src/base/errors.ts';
import { DELAY_MS } from '../../src/base/limits.ts';
import { relay as run, temporaryHome } from '../cli/program.ts';
import { until } from '../until.ts';
import { type CoreUnderTest, openTestCore } from './core.ts';

async function texts({ core, relay }: CoreUnderTest, channel: string): Promise<unknown[]> {
  const { last_seq } = await relay.channels.inspect(channel).catch(() => ({ last_seq: 0 }));
  const entries = await core.channels.read('local', channel, 0);
  return entries.slice(0, last_seq).map(({ data }) => (data as { msg: unknown }).msg);
}

test('a delayed message is sent when it is due, once, by a process that did not accept it', async () => {
  await using store = openTestCore();
  const before = Date.now();
  const answer = await store.relay.channels.publish('desk', 'later', { after: 600 });
  assert.equal(answer.seq, 0);
  assert.ok(answer.ts >= before + 600_000);
  await store.core.sweepStore();
  assert.deepEqual(await texts(store, 'desk'), []);
  store.advance(601_000);
  const others = [store.another(), store.another()];
  await Promise.all(others.map((core) => core.channels.delayed.release()));
  await store.core.sweepStore();
  assert.deepEqual(await texts(store, 'desk'), ['later']);
});

test('an idempotency key keeps a delayed message single', async () => {
  await using store = openTestCore();
  for (let i = 0; i < 2; i++)
    await store.relay.channels.publish('desk', 'once', { after: 1, idempotency_key: 'k' });
  store.advance(2_000);
  await store.core.sweepStore();
  assert.deepEqual(await texts(store, 'desk'), ['once']);
});

test('a delay of zero, below zero or above the limit is an error', async () => {
  await using store = openTestCore();
  for (const after of [0, -1, Number.NaN, DELAY_MS / 1000 + 1])
    await assert.rejects(store.relay.channels.publish('desk', 'x', { after }), (error) =>
      isRelayError(error, 'bad_request'),
    );
});

test('without a server, the next command that reads the channel sends the message', async () => {
  using home = temporaryHome();
  const store = { home: home.home };
  assert.equal((await run(['follow', 'desk', '--as', 'ada'], store)).code, 0);
  assert.equal((await run(['publish', 'desk', 'wake up', '--after', '1s'], store)).code, 0);
  await until(async () => /wake up/.test((await run(['inbox', '--as', 'ada'], store)).stdout));
  const wrong = await run(['publish', 'desk', 'x', '--after', '40d'], store);
  assert.match(wrong.stderr, /at most 30 days/);
});
