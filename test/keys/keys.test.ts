import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LOCAL_CALLER } from '../../src/contract/caller.ts';
import { RelayCore } from '../../src/domain/relay-core.ts';
import { until } from '../until.ts';
import { startGuarded } from './guarded-relay.ts';

const DAY_MS = 24 * 3600 * 1000;

test('a key is shown once and stored as its hash', async () => {
  await using relay = await startGuarded();
  const response = await relay.ask('POST', '/keys', {
    key: await relay.key({ scopes: ['admin'] }),
    body: { name: 'laptop' },
  });
  assert.equal(response.status, 201);
  assert.match(response.json.key, /^cr_live_[0-9A-Za-z]{40}$/);
  assert.deepEqual(response.json.scopes, ['push', 'pull', 'subscribe', 'threads', 'files', 'tasks']);
  const everything = JSON.stringify([
    (await relay.engine.records.list('ten.acme/')).items,
    (await relay.core.keys.list(LOCAL_CALLER, { tenant: 'acme', all: true })).map((key) => key),
  ]);
  assert.ok(everything.includes(response.json.id));
  assert.ok(!everything.includes(response.json.key));
  assert.ok(!everything.includes(response.json.key.slice('cr_live_'.length)));
});

test('a key works until it is revoked', async () => {
  await using relay = await startGuarded();
  const admin = await relay.key({ name: 'admin', scopes: ['admin', 'push'] });
  const key = await relay.key({ name: 'laptop' });
  assert.equal((await relay.ask('POST', '/push', { key, body: 'x' })).status, 200);
  const revoked = await relay.ask('DELETE', `/keys/${key.id}`, { key: admin });
  assert.equal(revoked.status, 200);
  assert.ok(revoked.json.revoked_at);
  assert.equal((await relay.ask('POST', '/push', { key, body: 'x' })).status, 401);
  assert.equal((await relay.ask('POST', '/push', { key: admin, body: 'x' })).status, 200);
});

test('a revocation in another process takes effect with the next request', async () => {
  await using relay = await startGuarded();
  await using other = await startGuarded({ open: () => relay.engine });
  const key = await relay.key();
  assert.equal((await relay.ask('POST', '/push', { key, body: 'x' })).status, 200);
  await other.core.keys.revoke(LOCAL_CALLER, key.id, { tenant: 'acme' });
  assert.equal((await relay.ask('POST', '/push', { key, body: 'x' })).status, 401);
});

test('an expired key stops working', async () => {
  await using relay = await startGuarded();
  const key = await relay.key({ expires_in: 60 });
  assert.equal((await relay.ask('POST', '/push', { key, body: 'x' })).status, 200);
  relay.advance(61_000);
  assert.equal((await relay.ask('POST', '/push', { key, body: 'x' })).status, 401);
});

test('a rotated key passes its name and rights to its successor, at once or after a grace period', async () => {
  await using relay = await startGuarded();
  const admin = await relay.key({ scopes: ['admin'] });
  const old = await relay.key({ name: 'ci', scopes: ['push'], channel_prefix: 'builds.' });
  const next = await relay.ask('POST', `/keys/${old.id}/rotate`, { key: admin, body: {} });
  assert.equal(next.status, 201);
  assert.deepEqual([next.json.name, next.json.scopes, next.json.channel_prefix], ['ci', ['push'], 'builds.']);
  assert.equal((await relay.ask('POST', '/push', { key: old, body: 'x' })).status, 401);
  assert.equal((await relay.ask('POST', '/push', { key: next.json.key, body: 'x' })).status, 200);
  const later = await relay.ask('POST', `/keys/${next.json.id}/rotate`, { key: admin, body: { grace: 60 } });
  assert.equal((await relay.ask('POST', '/push', { key: next.json.key, body: 'x' })).status, 200);
  relay.advance(61_000);
  assert.equal((await relay.ask('POST', '/push', { key: next.json.key, body: 'x' })).status, 401);
  assert.equal((await relay.ask('POST', '/push', { key: later.json.key, body: 'x' })).status, 200);
});

test('the list shows name, rights and last use, and on request keys revoked in the last 30 days', async () => {
  await using relay = await startGuarded();
  const admin = await relay.key({ name: 'admin', scopes: ['admin'] });
  const key = await relay.key({ name: 'laptop' });
  await relay.ask('POST', '/push', { key, body: 'x' });
  const list = async (query = '') =>
    (await relay.ask('GET', `/keys${query}`, { key: admin })).json.keys as {
      id: string;
      last_used_at: string;
    }[];
  assert.deepEqual((await list()).map(({ id }) => id).sort(), [admin.id, key.id].sort());
  assert.ok((await list()).find(({ id }) => id === key.id)!.last_used_at);
  await relay.ask('DELETE', `/keys/${key.id}`, { key: admin });
  assert.equal((await list()).length, 1);
  assert.equal((await list('?all=1')).length, 2);
  relay.advance(31 * DAY_MS);
  assert.equal((await list('?all=1')).length, 1);
});

test('the last use of a key survives a restart', async () => {
  await using relay = await startGuarded();
  const key = await relay.key();
  await relay.ask('POST', '/push', { key, body: 'x' });
  await relay.core.keys.use.flush();
  await using other = await startGuarded({ open: () => relay.engine });
  const [listed] = await other.core.keys.list(LOCAL_CALLER, { tenant: 'acme' });
  assert.ok(listed!.last_used_at);
});

test('a plan limits the number of keys, also if many are created at once', async () => {
  await using relay = await startGuarded();
  const results = await Promise.allSettled(Array.from({ length: 10 }, () => relay.key()));
  const createdCount = results.filter((result) => result.status === 'fulfilled').length;
  assert.ok(createdCount <= 2, `${createdCount} keys`);
  for (const result of results) {
    if (result.status === 'rejected') assert.equal(result.reason.code, 'too_many_keys');
  }
  while ((await relay.core.keys.list(LOCAL_CALLER, { tenant: 'acme' })).length < 2) await relay.key();
  await assert.rejects(relay.key(), { code: 'too_many_keys' });
  const [one] = await relay.core.keys.list(LOCAL_CALLER, { tenant: 'acme' });
  await relay.core.keys.rotate(LOCAL_CALLER, one!.id, { tenant: 'acme', grace: 60 });
  await relay.core.keys.revoke(LOCAL_CALLER, one!.id, { tenant: 'acme' });
  await assert.rejects(relay.key(), { code: 'too_many_keys' });
});

test('an admin manages its own tenant, an admin of the relay all tenants', async () => {
  await using relay = await startGuarded();
  const acme = await relay.key({ scopes: ['admin'] });
  const operator = (await relay.core.keys.createFirst())!;
  assert.equal(await relay.core.keys.createFirst(), null);
  const forOther = { name: 'x', tenant: 'umbrella' };
  assert.equal((await relay.ask('POST', '/keys', { key: acme, body: forOther })).status, 403);
  assert.equal(
    (await relay.ask('POST', '/keys', { key: acme, body: { name: 'x', plan: 'team' } })).status,
    403,
  );
  const response = await relay.ask('POST', '/keys', { key: operator, body: { ...forOther, plan: 'pro' } });
  assert.deepEqual([response.status, response.json.tenant, response.json.plan], [201, 'umbrella', 'pro']);
  assert.equal((await relay.ask('DELETE', `/keys/${response.json.id}`, { key: acme })).status, 404);
  assert.equal(
    (await relay.ask('DELETE', `/keys/${response.json.id}?tenant=umbrella`, { key: acme })).status,
    403,
  );
  assert.equal(
    (await relay.ask('DELETE', `/keys/${response.json.id}?tenant=umbrella`, { key: operator })).status,
    200,
  );
});

test('an admin bound to a channel prefix cannot create a key beyond it', async () => {
  await using relay = await startGuarded({ core: { defaultPlan: 'team' } });
  const bound = await relay.key({ scopes: ['admin'], channel_prefix: 'builds.' });
  const wide = await relay.key({ name: 'wide' });
  const statusFor = async (channel_prefix?: string) =>
    (await relay.ask('POST', '/keys', { key: bound, body: { name: 'x', channel_prefix } })).status;
  assert.deepEqual(
    [await statusFor(), await statusFor(''), await statusFor('build'), await statusFor('tests.')],
    Array(4).fill(403),
  );
  assert.deepEqual([await statusFor('builds.'), await statusFor('builds.linux.')], [201, 201]);
  const rotated = await relay.ask('POST', `/keys/${wide.id}/rotate`, { key: bound, body: {} });
  assert.deepEqual([rotated.status, rotated.json.code], [404, 'not_found']);
  assert.equal((await relay.ask('POST', '/push', { key: wide, body: 'x' })).status, 200);
});

test('invalid names, scopes, tenants and times are refused', async () => {
  await using relay = await startGuarded();
  const operator = (await relay.core.keys.createFirst())!;
  for (const body of [
    {},
    { name: '' },
    { name: 'a\nb' },
    { name: 'a\u202eb' },
    { name: 'x'.repeat(200) },
    { name: 'x', scopes: [] },
    { name: 'x', scopes: ['root'] },
    { name: 'x', expires_in: 0 },
    { name: 'x', expires_in: 1e12 },
    { name: 'x', tenant: 'a/b' },
    { name: 'x', tenant: '..' },
    { name: 'x', tenant: 'A' },
    { name: 'x', tenant: 'a.b' },
    { name: 'x', plan: 'gold' },
    { name: 'x', plan: '__proto__' },
    { name: 'x', channel_prefix: 'x'.repeat(300) },
  ]) {
    const { status } = await relay.ask('POST', '/keys', { key: operator, body });
    assert.equal(status, 400, JSON.stringify(body));
  }
});

test('another process sees within seconds that a key was used', async () => {
  await using relay = await startGuarded();
  const key = await relay.key();
  const { engine, env, texts } = relay.core.deps;
  const elsewhere = new RelayCore({ engine, env, texts }, { auth: 'keys' });
  const lastUse = async () => (await elsewhere.keys.list(LOCAL_CALLER, { tenant: 'acme' }))[0]!.last_used_at;
  assert.equal(await lastUse(), null);
  await relay.ask('GET', '/channels', { key });
  await until(async () => (await lastUse()) !== null);
  await elsewhere.close();
});
