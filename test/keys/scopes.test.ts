import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SCOPES } from '../../src/contract/caller.ts';
import { routeOf } from '../../src/contract/verb.ts';
import { OPERATIONS } from '../../src/interfaces/http/operations.ts';
import { startGuarded } from './guarded-relay.ts';

const ID = '00000000-0000-4000-8000-000000000000';
const route = (path: string) =>
  path
    .replace(':id', path.startsWith('/keys') ? 'key_0123456789abcdef' : ID)
    .replace(/:\w+(\{[^}]*\})?/g, ID);

test('every operation requires a key with its scope, with and without /v1', async () => {
  await using relay = await startGuarded({ core: { defaultPlan: 'team' } });
  const [none, keys] = [await relay.key({ scopes: ['tasks'] }), new Map<string, string>()];
  for (const scope of SCOPES) {
    const others = SCOPES.filter((each) => each !== scope);
    keys.set(scope, (await relay.key({ scopes: others })).key);
  }
  assert.ok(OPERATIONS.length > 20);
  for (const { verb } of OPERATIONS) {
    const { name, scope, byLink } = verb;
    const http = routeOf(verb);
    if (scope === null) continue;
    for (const prefix of ['', '/v1']) {
      const path = prefix + route(http.path);
      const unkeyed = await relay.ask(http.method, path);
      assert.equal(unkeyed.status, byLink ? 404 : 401, `${name} without a key`);
      const wrong = await relay.ask(http.method, path, { key: `cr_live_${'x'.repeat(40)}` });
      assert.equal(wrong.status, 401, `${name} with a key that is none`);
      const { status, json } = await relay.ask(http.method, path, { key: keys.get(scope)! });
      assert.deepEqual([status, json?.code], [403, 'forbidden'], `${name} with every scope but ${scope}`);
    }
  }
  assert.equal((await relay.ask('GET', '/channels', { key: none })).status, 403);
});

test('public routes need no key', async () => {
  await using relay = await startGuarded();
  for (const path of ['/', '/health', '/ready', '/version', '/openapi.json']) {
    assert.equal((await relay.ask('GET', path)).status, 200, path);
  }
});

test('a key is accepted only in the Authorization header, as a bearer token', async () => {
  await using relay = await startGuarded();
  const { key } = await relay.key();
  const status = async (headers: Record<string, string>, path = '/push') =>
    (await relay.ask('POST', path, { body: 'x', headers })).status;
  assert.equal(await status({ Authorization: `Bearer ${key}` }), 200);
  assert.equal(await status({ Authorization: `bearer ${key}` }), 200);
  assert.equal(await status({ Authorization: key }), 401);
  assert.equal(await status({ Authorization: `Basic ${key}` }), 401);
  assert.equal(await status({ 'X-Api-Key': key }), 401);
  assert.equal(await status({}, `/push?key=${key}`), 401);
  assert.equal(await status({ Authorization: `Bearer ${key}x` }), 401);
  assert.equal(await status({ Authorization: `Bearer ${key.slice(0, -1)}` }), 401);
  const { headers } = await relay.ask('POST', '/push', { body: 'x' });
  assert.match(headers.get('www-authenticate')!, /^Bearer/);
});

test('a key with a channel prefix works only on these channels', async () => {
  await using relay = await startGuarded({ core: { defaultPlan: 'team' } });
  const key = await relay.key({ channel_prefix: 'builds.' });
  const free = await relay.key();
  assert.equal((await relay.ask('POST', '/push', { key, body: { data: 'x' } })).status, 200);
  assert.equal(
    (await relay.ask('POST', '/push', { key, body: { data: 'x', channel: 'builds.a' } })).status,
    200,
  );
  await relay.ask('POST', '/channels/secret', { key: free, body: { msg: 1 } });
  for (const [method, path, body] of [
    ['POST', '/push', { data: 'x', channel: 'secret' }],
    ['POST', '/push?channel=secret', 'x'],
    ['POST', '/channels/secret', { msg: 1 }],
    ['GET', '/channels/secret', undefined],
    ['GET', '/channels/secret/position', undefined],
    ['GET', '/channels/secret/events', undefined],
    ['POST', '/channels/secret/groups/g/ack', { seq: 1, token: 1 }],
    ['DELETE', '/channels/secret/groups/g', undefined],
    ['POST', '/inbox/me/channels', { channel: 'secret' }],
  ] as const) {
    const { status, json } = await relay.ask(method, path, { key, body });
    assert.deepEqual([status, json?.code], [403, 'forbidden'], `${method} ${path}`);
  }
  const large = JSON.stringify({ data: 'x'.repeat(1024 * 1024), channel: 'secret' });
  const headers = { 'Content-Type': 'application/json' };
  assert.equal((await relay.ask('POST', '/push', { key, body: large, headers })).status, 403);
  const { json } = await relay.ask('GET', '/channels', { key });
  assert.deepEqual(
    json.channels.map((channel: { name: string }) => channel.name),
    ['builds.a'],
  );
});
