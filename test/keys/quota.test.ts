import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Env } from '../../src/base/env.ts';
import { openSqlite } from '../../src/engines/sqlite/engine.ts';
import { type GuardedRelay, startGuarded } from './guarded-relay.ts';

const homes: string[] = [];
after(() => {
  for (const home of homes) rmSync(home, { recursive: true, force: true });
});

function sqlite(): (env: Env) => ReturnType<typeof openSqlite> {
  const home = mkdtempSync(join(tmpdir(), 'relay-quota-'));
  homes.push(home);
  return (env) => openSqlite({ home, env, durability: 'process', role: 'server' });
}

/** Sends `count` pushes, `atOnce` in parallel, and returns how many succeeded. */
async function pushMany(
  relays: readonly GuardedRelay[],
  key: string,
  count: number,
  atOnce: number,
): Promise<{ fine: number; refused: number }> {
  let left = count;
  const counts = { fine: 0, refused: 0 };
  const client = async (relay: GuardedRelay) => {
    while (left-- > 0) {
      const { status } = await relay.ask('POST', '/push', { key, body: 'x' });
      if (status === 200) counts.fine++;
      else if (status === 402) counts.refused++;
      else assert.fail(`answered with ${status}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, (_, i) => client(relays[i % relays.length]!)));
  return counts;
}

test('exactly the 1001st push of a Free key in a month is refused, with 50 clients at two servers and a restart', async () => {
  const open = sqlite();
  let key: string;
  {
    await using first = await startGuarded({ open });
    await using second = await startGuarded({ open });
    key = (await first.key({ plan: 'free' })).key;
    assert.deepEqual(await pushMany([first, second], key, 600, 50), { fine: 600, refused: 0 });
  }
  await using relay = await startGuarded({ open });
  assert.deepEqual(await pushMany([relay], key, 450, 50), { fine: 400, refused: 50 });
  const { status, json } = await relay.ask('POST', '/push', { key, body: 'x' });
  assert.equal(status, 402);
  const now = new Date();
  const reset = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)).toISOString();
  assert.deepEqual(
    { code: json.code, plan: json.plan, limit: json.limit, used: json.used, reset: json.reset },
    { code: 'over_quota', plan: 'free', limit: 1000, used: 1000, reset },
  );
});

test('pulls are never blocked, and a new month resets the count', async () => {
  const plans = { tiny: { pushes: 1, pulls: 1, keys: 5, payloadBytes: 100, ttlMs: 90 * 24 * 3600 * 1000 } };
  await using relay = await startGuarded({ core: { plans, defaultPlan: 'tiny' } });
  const key = await relay.key();
  const { json } = await relay.ask('POST', '/push', { key, body: { data: 'x', ttl: 89 * 24 * 3600 } });
  assert.equal((await relay.ask('POST', '/push', { key, body: 'x' })).status, 402);
  for (let i = 0; i < 5; i++) {
    assert.equal((await relay.ask('GET', `/pull/${json.id}`, { key })).status, 200);
  }
  const usage = await relay.ask('GET', '/usage', { key });
  assert.deepEqual(usage.json.pushes, { used: 1, limit: 1 });
  assert.deepEqual(usage.json.pulls, { used: 5, limit: 1 });
  const now = new Date();
  relay.advance(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1) - now.getTime() + 1000);
  assert.equal((await relay.ask('POST', '/push', { key, body: 'x' })).status, 200);
  assert.equal((await relay.ask('POST', '/push', { key, body: 'x' })).status, 402);
});

test('refused and failed pushes are not counted, and a retry counts once', async () => {
  const plans = { tiny: { pushes: 3, pulls: null, keys: 5, payloadBytes: 100, ttlMs: 60_000 } };
  await using relay = await startGuarded({ core: { plans, defaultPlan: 'tiny' } });
  const key = await relay.key();
  const used = async () => (await relay.ask('GET', '/usage', { key })).json.pushes.used;
  const status = async (body: unknown, headers = {}) =>
    (await relay.ask('POST', '/push', { key, body, headers })).status;
  assert.equal(await status(''), 400);
  assert.equal(await status('x'.repeat(101)), 413);
  assert.equal(await status({ data: 'x', ttl: 61 }), 400);
  assert.equal(await status({ data: 'x', visibility: 'all' }), 400);
  assert.equal(await used(), 0);
  const repeated = { 'Idempotency-Key': 'one' };
  assert.equal(await status('x', repeated), 200);
  assert.equal(await status('x', repeated), 200);
  assert.equal(await status('y', repeated), 409);
  assert.equal(await used(), 1);
  assert.equal(await status('a'), 200);
  assert.equal(await status('b'), 200);
  assert.equal(await status('c'), 402);
  // The first attempt was counted. Its retry succeeds, because it is not counted again.
  assert.equal(await status('x', repeated), 200);
  assert.equal(await status('y', repeated), 409);
  assert.equal(await status('y', { 'Idempotency-Key': 'two' }), 402);
  assert.equal(await used(), 3);
});

test('a large body is not read if the quota is used up', async () => {
  const plans = { none: { pushes: 0, pulls: null, keys: 5, payloadBytes: 26_214_400, ttlMs: 60_000 } };
  await using relay = await startGuarded({ core: { plans, defaultPlan: 'none' } });
  const { key } = await relay.key();
  let sentBytes = 0;
  const body = new ReadableStream({
    pull(controller) {
      sentBytes += 64 * 1024;
      if (sentBytes > 20 * 1024 * 1024) controller.close();
      else controller.enqueue(new Uint8Array(64 * 1024));
    },
  });
  const headers = { Authorization: `Bearer ${key}` };
  const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit;
  const status = await fetch(`${relay.url}/push`, init).then(
    (response) => response.status,
    () => 402,
  );
  assert.equal(status, 402);
  assert.ok(sentBytes < 10 * 1024 * 1024, `${sentBytes} bytes were taken`);
});

test('usage is reported by key, operation and day, for admins of all keys, as JSON and CSV', async () => {
  await using relay = await startGuarded({ core: { defaultPlan: 'team' } });
  const admin = await relay.key({ name: 'admin', scopes: ['admin', 'push'] });
  const key = await relay.key();
  const { json } = await relay.ask('POST', '/push', {
    key,
    body: { data: 'twelve bytes', visibility: 'link' },
  });
  await relay.ask('GET', `/pull/${json.id}`, { key });
  await relay.ask('GET', `/pull/${json.id}?raw=1`);
  await relay.ask('POST', '/push', { key: admin, body: 'x' });
  const usage = await relay.ask('GET', '/usage', { key });
  const day = new Date().toISOString().slice(0, 10);
  assert.deepEqual(usage.json.rows, [
    { day, key: key.id, operation: 'push', count: 1, bytes: 12 },
    { day, key: key.id, operation: 'pull', count: 1, bytes: 12 },
  ]);
  const all = await relay.ask('GET', '/usage', { key: admin });
  assert.equal(all.json.rows.length, 4);
  assert.deepEqual(all.json.pushes, { used: 2, limit: 1_000_000 });
  assert.deepEqual(all.json.pulls, { used: 2, limit: 10_000_000 });
  const csv = await relay.ask('GET', '/usage?format=csv', { key: admin });
  assert.match(csv.headers.get('content-type')!, /^text\/csv/);
  assert.match(csv.headers.get('content-disposition')!, /^attachment/);
  const lines = csv.text.trimEnd().split('\r\n');
  assert.equal(lines[0], 'day,tenant,key,operation,count,bytes');
  assert.ok(lines.includes(`${day},acme,${key.id},push,1,12`));
  assert.ok(lines.includes(`${day},acme,link,pull,1,12`));
  assert.equal((await relay.ask('GET', '/usage?month=2026-13', { key })).status, 400);
  assert.equal((await relay.ask('GET', '/usage?tenant=local', { key })).status, 403);
});

test('the plan limits payload size and time to live', async () => {
  await using relay = await startGuarded();
  const key = await relay.key({ plan: 'free' });
  const day = 24 * 3600;
  assert.equal((await relay.ask('POST', '/push', { key, body: { data: 'x', ttl: day } })).status, 200);
  const longer = await relay.ask('POST', '/push', { key, body: { data: 'x', ttl: day + 1 } });
  assert.deepEqual([longer.status, longer.json.code], [400, 'bad_request']);
  assert.match(longer.json.error, /from 1 second to 1 day/);
});
