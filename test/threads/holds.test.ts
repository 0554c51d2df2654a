import assert from 'node:assert/strict';
import { test } from 'node:test';
import { httpRelay } from '../../src/sdk/http-relay.ts';
import { startRelay } from '../http/relay-under-test.ts';
import { openThreads, stoppedClock } from './open-threads.ts';

const hold = (token: string) => ({ token, holder: `who has ${token}`, ttl: 10 });

test('only one of many concurrent callers gets the lease, and the others learn who', async () => {
  const { api, again } = openThreads();
  const { thread_id } = await api.create();
  const holds = Array.from({ length: 8 }, (_, i) => again().api.hold(thread_id, hold(`t${i}`)));
  const answers = await Promise.all(holds);
  assert.equal(answers.filter(({ granted }) => granted).length, 1);
  assert.equal(new Set(answers.map((answer) => answer.hold?.holder)).size, 1);
});

test('a lease expires unless it is renewed; its holder may renew it until another takes it', async () => {
  const env = stoppedClock();
  const { api } = openThreads({ env });
  const { thread_id } = await api.create();
  await api.hold(thread_id, hold('a'));
  env.advance(9_000);
  assert.ok((await api.hold(thread_id, { ...hold('a'), renew: true })).granted);
  env.advance(9_000);
  assert.ok(!(await api.hold(thread_id, hold('b'))).granted);
  env.advance(2_000);
  assert.ok((await api.hold(thread_id, { ...hold('a'), renew: true })).granted);
  env.advance(10_000);
  assert.ok((await api.hold(thread_id, hold('b'))).granted);
  assert.deepEqual(await api.hold(thread_id, { ...hold('a'), renew: true }), {
    granted: false,
    hold: { holder: 'who has b', since: '2026-01-01T00:00:30.000Z', until: '2026-01-01T00:00:40.000Z' },
  });
  await api.release(thread_id, { token: 'a' });
  assert.ok(!(await api.hold(thread_id, hold('c'))).granted, 'who has none can let none go');
  assert.ok((await api.hold(thread_id, { ...hold('c'), instead_of: 'who has b' })).granted);
  assert.ok(!(await api.hold(thread_id, { ...hold('d'), instead_of: 'who has b' })).granted);
});

test('a lease works through a server, and another tenant cannot take it', async () => {
  await using server = await startRelay();
  const { threads } = httpRelay({ baseUrl: server.url });
  const { thread_id } = await threads.create();
  assert.ok((await threads.hold(thread_id, hold('a'))).granted);
  assert.equal((await threads.hold(thread_id, hold('b'))).hold?.holder, 'who has a');
  await threads.release(thread_id, { token: 'a' });
  assert.deepEqual(await threads.hold(thread_id, { ...hold('a'), renew: true }), {
    granted: false,
    hold: null,
  });
  await assert.rejects(threads.hold(crypto.randomUUID(), hold('a')), { code: 'not_found' });
  await assert.rejects(threads.hold(thread_id, { ...hold('a'), ttl: 0 }), { code: 'bad_request' });
});

test('lists hide threads whose name starts with a dot, unless they are searched for', async () => {
  const { api } = openThreads();
  const { thread_id } = await api.create({ name: '.turn of deploy' });
  await api.create({ name: 'deploy' });
  const names = async (o: object) => (await api.list(o)).threads.map(({ name }) => name);
  assert.deepEqual(await names({}), ['deploy']);
  assert.deepEqual(await names({ q: '.turn' }), ['.turn of deploy']);
  assert.deepEqual(await names({ prefix: thread_id.slice(0, 8) }), ['.turn of deploy']);
});
