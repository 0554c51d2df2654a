import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SCOPES } from '../../src/contract/caller.ts';
import type { CreatedKey } from '../../src/contract/keys.ts';
import { routeOf } from '../../src/contract/verb.ts';
import { OPERATIONS } from '../../src/interfaces/http/operations.ts';
import { startGuarded, upgradeStatus } from './guarded-relay.ts';

const NOWHERE = '00000000-0000-4000-8000-000000000000';

/** Operations that a share link may use, with their requests. All others must be refused. */
const SHARED: {
  readonly [name: string]: (thread: string, ref: string) => readonly [path: string, body?: unknown];
} = {
  'keys.self': () => ['/keys/self'],
  'threads.get': (id) => [`/threads/${id}`],
  'threads.state': (id) => [`/threads/${id}/state`],
  'threads.header': (id) => [`/threads/${id}/state/header`],
  'threads.diff': (id) => [`/threads/${id}/state/diff?from=v1`],
  'threads.blame': (id) => [`/threads/${id}/state/blame`],
  'threads.events': (id) => [`/threads/${id}/events`],
  'threads.run': (id) => [`/threads/${id}/run`],
  'threads.stats': (id) => [`/threads/${id}/stats`],
  'threads.export': (id) => [`/threads/${id}/export`],
  'threads.render': (id) => [`/render/${id}`, {}],
  'artifacts.list': (id) => [`/threads/${id}/artifacts`],
  'artifacts.get': (id, ref) => [`/threads/${id}/artifacts/${ref}`],
  'artifacts.content': (id, ref) => [`/threads/${id}/artifacts/${ref}/content`],
  'artifacts.part': (id, ref) => [`/threads/${id}/artifacts/${ref}/part?lines=1`],
  'artifacts.search': (id) => [`/threads/${id}/search?q=x`],
};

test('HTTP: a share link can only read its thread, and only its pulls are recorded', async () => {
  await using relay = await startGuarded({ core: { defaultPlan: 'team' } });
  const free = await relay.key({ scopes: [...SCOPES] });
  const pushed = await relay.ask('POST', '/push?visibility=link', { key: free, body: 'x' });
  const statusOf = async (method: string, path: string, key: CreatedKey, body?: unknown) => {
    const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${key.key}` };
    const json = body === undefined ? null : JSON.stringify(body);
    const response = await fetch(relay.url + path, { method, headers, body: json });
    await response.body?.cancel();
    return response.status;
  };
  const thread = async () => (await relay.ask('POST', '/threads', { key: free, body: {} })).json.thread_id;
  const [ownThread, other] = [await thread(), await thread()];
  const upload = { name: 'a.txt', type: 'text', mime: 'text/plain', content: 'x' };
  const artifact = async (id: string) =>
    (await relay.ask('POST', `/threads/${id}/artifacts`, { key: free, body: upload })).json.ref;
  const [ref, foreignRef] = [await artifact(ownThread), await artifact(other)];
  const began = { type: 'pipeline.started', payload: { pipeline: 'p' } };
  await relay.ask('POST', `/threads/${ownThread}/events`, { key: free, body: began });
  const response = await relay.ask('POST', '/shares', { key: free, body: { thread_id: ownThread } });
  const link = { key: response.json.token } as CreatedKey;
  const stats = () => relay.ask('GET', `/threads/${ownThread}/stats`, { key: free });
  const events = async () =>
    (await relay.ask('GET', `/threads/${ownThread}/events`, { key: free })).json.events;
  const before = (await stats()).json;
  const shared = OPERATIONS.filter(({ verb }) => verb.shared).map(({ verb }) => verb.name);
  assert.deepEqual(shared.sort(), Object.keys(SHARED).sort());
  for (const { verb } of OPERATIONS) {
    const { name } = verb;
    const { method } = routeOf(verb);
    const reads = SHARED[name];
    if (reads) {
      assert.equal(await statusOf(method, ...statusArguments(reads(ownThread, ref), link)), 200, name);
      if (name !== 'keys.self')
        assert.equal(
          await statusOf(method, ...statusArguments(reads(other, foreignRef), link)),
          403,
          `${name}, elsewhere`,
        );
      continue;
    }
    const path = routeOf(verb)
      .path.replace(':thread_id', ownThread)
      .replace(':ref', ref)
      .replace(/:\w+/g, NOWHERE);
    const body = method === 'POST' ? {} : undefined;
    assert.equal(await statusOf(method, path, link, body), 403, name);
  }
  await relay.core.close();
  assert.deepEqual((await stats()).json, before);
  const noted = (await events()).slice(3) as { type: string; payload: { counted?: boolean } }[];
  assert.ok(noted.every(({ type, payload }) => type === 'artifact.pulled' && payload.counted === false));
  assert.equal(
    await statusOf('GET', `/pull/${pushed.json.id}`, link),
    403,
    'not even what has a link of its own',
  );
  assert.equal(await upgradeStatus(relay.url, '/ws/mine.a', link), 403);
  assert.equal(await statusOf('POST', '/mcp', link, { jsonrpc: '2.0', id: 1, method: 'tools/list' }), 403);
  const rpc = { jsonrpc: '2.0', id: 1, method: 'ListTasks', params: {} };
  assert.equal(await statusOf('POST', '/a2a/relay', link, rpc), 403);
  assert.equal(await statusOf('DELETE', `/shares/${response.json.id}`, free), 204);
  assert.equal(await statusOf('GET', `/threads/${ownThread}`, link), 401);
});

function statusArguments(
  [path, body]: readonly [path: string, body?: unknown],
  key: CreatedKey,
): [path: string, key: CreatedKey, body?: unknown] {
  return [path, key, body];
}

test('a share link ends with the key that made it, but survives the rotation of that key', async () => {
  await using relay = await startGuarded({ core: { defaultPlan: 'team' } });
  const admin = await relay.key({ scopes: [...SCOPES] });
  const maker = await relay.key({});
  const thread = (await relay.ask('POST', '/threads', { key: maker, body: {} })).json.thread_id;
  const share = async (key: CreatedKey) =>
    (await relay.ask('POST', '/shares', { key, body: { thread_id: thread } })).json;
  const look = async ({ token }: { token: string }) =>
    (await relay.ask('GET', `/threads/${thread}`, { key: token })).status;
  const [first, second, others] = [await share(maker), await share(maker), await share(admin)];
  assert.equal(first.key_id, maker.id);
  const { json: next } = await relay.ask('POST', `/keys/${maker.id}/rotate`, { key: admin, body: {} });
  assert.deepEqual([await look(first), await look(second)], [200, 200], 'after a rotation');
  const { json } = await relay.ask('GET', '/shares', { key: admin });
  assert.equal(json.shares.find(({ id }: { id: string }) => id === first.id).key_id, next.id);
  const stream = await fetch(`${relay.url}/threads/${thread}/events`, {
    headers: { Authorization: `Bearer ${first.token}`, Accept: 'text/event-stream' },
  });
  const revoked = await relay.ask('DELETE', `/keys/${next.id}`, { key: admin });
  assert.equal(revoked.json.shares_ended, 2);
  assert.deepEqual([await look(first), await look(second), await look(others)], [401, 401, 200]);
  // The open stream of a viewer must end. Otherwise this line would wait forever.
  await stream.text();
  const response = await relay.ask('GET', '/shares', { key: admin });
  assert.deepEqual(
    response.json.shares.map(({ id }: { id: string }) => id),
    [others.id],
  );
  assert.equal((await relay.ask('DELETE', `/keys/${next.id}`, { key: admin })).json.shares_ended, 0);
});

test('a share link ends when its key expires, and when an older version revoked the key', async () => {
  await using relay = await startGuarded({ core: { defaultPlan: 'team' } });
  const [short, other] = [await relay.key({ expires_in: 60 }), await relay.key({})];
  const thread = (await relay.ask('POST', '/threads', { key: other, body: {} })).json.thread_id;
  const share = async (key: CreatedKey) =>
    (await relay.ask('POST', '/shares', { key, body: { thread_id: thread } })).json;
  const look = async ({ token }: { token: string }) =>
    (await relay.ask('GET', `/threads/${thread}`, { key: token })).status;
  const [dying, orphan] = [await share(short), await share(other)];
  assert.equal(dying.expires_at, short.expires_at);
  relay.advance(61_000);
  assert.deepEqual([await look(dying), await look(orphan)], [401, 200]);
  // Delete the keys as an earlier version does, which does not know share links.
  const { records } = relay.engine;
  for (const { key } of (await records.list('ten.acme/keys/', { limit: 10 })).items)
    if (key.endsWith(other.id)) await records.delete(key);
  assert.equal(await look(orphan), 401);
});

test('an old share link without a key keeps its own expiry, and the list marks it', async () => {
  await using relay = await startGuarded({ core: { defaultPlan: 'team' } });
  const key = await relay.key({});
  const thread = (await relay.ask('POST', '/threads', { key, body: {} })).json.thread_id;
  const share = (await relay.ask('POST', '/shares', { key, body: { thread_id: thread } })).json;
  const { records } = relay.engine;
  const listed = (await records.get(`ten.acme/shares/${share.id}`))!.value as { hash: string; key?: string };
  const { key: _, ...old } = listed;
  const expiresAt = Date.parse(share.expires_at);
  await records.put(`ten.acme/shares/${share.id}`, old, { expiresAt });
  await records.put(`shr.${listed.hash}/share`, old, { expiresAt });
  const admin = await relay.key({ scopes: [...SCOPES] });
  assert.equal((await relay.ask('GET', '/shares', { key: admin })).json.shares[0].key_id, null);
  assert.equal((await relay.ask('DELETE', `/keys/${key.id}`, { key: admin })).json.shares_ended, 0);
  assert.equal((await relay.ask('GET', `/threads/${thread}`, { key: share.token })).status, 200);
});
