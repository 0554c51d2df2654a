import assert from 'node:assert/strict';
import { test } from 'node:test';
import { httpRelay } from '../../src/sdk/http-relay.ts';
import { startRelay } from '../http/relay-under-test.ts';
import { startGuarded } from '../keys/guarded-relay.ts';
import { until } from '../until.ts';

test('a share link shows its thread also in open mode, and identifies itself as a share', async () => {
  await using relay = await startRelay();
  const api = httpRelay({ baseUrl: relay.url });
  const { thread_id } = await api.threads.create({ name: 'plan' });
  const { thread_id: other } = await api.threads.create();
  const share = await api.shares.create({ thread_id, name: 'for Ann', expires_in: 60 });
  assert.equal(share.path, `/ui/share/${thread_id}#token=${share.token}`);
  const guest = httpRelay({ baseUrl: relay.url, apiKey: share.token });
  assert.equal((await guest.threads.get(thread_id)).name, 'plan');
  await assert.rejects(guest.threads.get(other), /can only read its own thread/);
  await assert.rejects(guest.threads.list(), /can only read its own thread/);
  const self = await guest.keys.self();
  assert.deepEqual(
    [self.auth, self.thread, self.scopes, self.name],
    ['open', thread_id, ['threads'], 'for Ann'],
  );
  assert.equal((await api.keys.self()).thread, null);
  await assert.rejects(api.shares.create({ thread_id: crypto.randomUUID() }), /Not found/);
});

test('a share link ends when it expires or is revoked, and its watchers are disconnected', async () => {
  await using relay = await startGuarded();
  const key = await relay.key({});
  const owner = httpRelay({ baseUrl: relay.url, apiKey: key.key });
  const { thread_id } = await owner.threads.create();
  const [short, long] = [
    await owner.shares.create({ thread_id, expires_in: 60 }),
    await owner.shares.create({ thread_id }),
  ];
  const { shares } = await owner.shares.list({ thread_id });
  assert.deepEqual(new Set(shares.map(({ id }) => id)), new Set([short.id, long.id]));
  assert.ok(!JSON.stringify(shares).includes('cr_share_'));
  const stored = JSON.stringify(await relay.engine.records.list('ten.acme/'));
  assert.ok(!stored.includes(long.token));
  const guest = httpRelay({ baseUrl: relay.url, apiKey: long.token });
  const types: string[] = [];
  const watching = (async () => {
    const { signal } = new AbortController();
    for await (const { type } of guest.threads.watch(thread_id, { signal })) types.push(type);
  })();
  watching.catch(() => {});
  await until(() => types.length > 0);
  await owner.shares.revoke(long.id);
  await assert.rejects(watching, /key/i);
  await assert.rejects(guest.threads.get(thread_id));
  relay.advance(61_000);
  await assert.rejects(httpRelay({ baseUrl: relay.url, apiKey: short.token }).threads.get(thread_id));
  assert.deepEqual((await owner.shares.list()).shares, []);
  const { activities } = await httpRelay({
    baseUrl: relay.url,
    apiKey: (await relay.key({ scopes: ['subscribe', 'admin'] })).key,
  }).activity.list();
  assert.ok(activities.some(({ kind, share }) => kind === 'share.revoked' && share === long.id));
});

test('a tenant does not see the share links of another tenant', async () => {
  await using relay = await startGuarded();
  const owner = httpRelay({ baseUrl: relay.url, apiKey: (await relay.key({})).key });
  const other = httpRelay({ baseUrl: relay.url, apiKey: (await relay.key({ tenant: 'evil' })).key });
  const { thread_id } = await owner.threads.create();
  const { id } = await owner.shares.create({ thread_id });
  assert.deepEqual((await other.shares.list()).shares, []);
  await assert.rejects(other.shares.revoke(id), /Not found/);
  await assert.rejects(other.shares.create({ thread_id }), /thread/);
  assert.equal((await owner.shares.list()).shares.length, 1);
});
