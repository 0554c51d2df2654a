import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import { type GuardedRelay, startGuarded } from '../keys/guarded-relay.ts';

/** Refills so slowly that only the burst counts: 10 requests for a key or an address, 15 for a tenant. */
const TEN = { perKey: 0.001, perAddress: 0.001, perTenant: 0.0015, burst: 10_000 };

const start = () => startGuarded({ core: { defaultPlan: 'team' }, server: { rateLimits: TEN } });

/** Returns the status of an upgrade (101 on success) and its Retry-After header. */
function upgrade(relay: GuardedRelay, query: string, key?: string): Promise<[number, string?]> {
  const headers = key ? { Authorization: `Bearer ${key}` } : {};
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`${relay.url.replace('http', 'ws')}/ws/c${query}`, { headers });
    socket.once('open', () => {
      socket.close();
      resolve([101]);
    });
    socket.once('unexpected-response', (request, response) => {
      resolve([response.statusCode!, response.headers['retry-after']]);
      request.destroy();
    });
    socket.on('error', reject);
  });
}

const times = <T>(count: number, one: () => Promise<T>) => Promise.all(Array.from({ length: count }, one));

function tally(statuses: number[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const status of statuses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

test('all keys of one tenant share its rate limit, and do not affect another tenant', async () => {
  await using relay = await start();
  const keys = await times(4, () => relay.key());
  const responses = await Promise.all(
    keys.flatMap((key) => Array.from({ length: 5 }, () => relay.ask('GET', '/channels', { key }))),
  );
  assert.deepEqual(tally(responses.map(({ status }) => status)), { 200: 15, 429: 5 });
  const other = await relay.key({ tenant: 'umbrella' });
  assert.equal((await relay.ask('GET', '/channels', { key: other })).status, 200);
});

test('WebSocket upgrades count like any other request of their key', async () => {
  await using relay = await start();
  const { key } = await relay.key();
  const upgrades = await times(12, () => upgrade(relay, '', key));
  assert.deepEqual(tally(upgrades.map(([status]) => status)), { 101: 10, 429: 2 });
  assert.match(upgrades.find(([status]) => status === 429)![1]!, /^[1-9]\d*$/);
  assert.equal((await relay.ask('POST', '/ws-ticket', { key })).status, 429);
});

test('a socket with a ticket counts for the key that requested the ticket', async () => {
  await using relay = await start();
  const { key } = await relay.key();
  const tickets = await times(6, async () => (await relay.ask('POST', '/ws-ticket', { key })).json.ticket);
  const upgrades = await Promise.all(tickets.map((ticket) => upgrade(relay, `?ticket=${ticket}`)));
  assert.deepEqual(tally(upgrades.map(([status]) => status)), { 101: 4, 429: 2 });
});

test('failed keys and tickets on a socket count by address', async () => {
  await using relay = await start();
  const wrong = await times(6, () => upgrade(relay, '', `cr_live_${'x'.repeat(40)}`));
  const guessed = await times(6, () => upgrade(relay, '?ticket=0123456789abcdef'));
  assert.deepEqual(tally([...wrong, ...guessed].map(([status]) => status)), { 401: 10, 429: 2 });
});
