import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CreatedKey } from '../../src/contract/keys.ts';
import { overHttp } from '../mcp/clients.ts';
import { type GuardedRelay, startGuarded } from './guarded-relay.ts';
import { FACT, HOUR, heldBy, newThread, plan, putArtifact, ROOM, usedOf } from './stored-bytes.ts';

/** Fills the tenant's storage until nothing fits any more. Returns the ids of the thread and its artifact. */
async function fillStorage(relay: GuardedRelay, key: CreatedKey): Promise<{ id: string; ref: string }> {
  const id = await newThread(relay, key);
  const { status, json, text } = await putArtifact(relay, key, id, ROOM - 5_000);
  assert.equal(status, 201, text);
  for (let size = 2_000; size >= 1; size = Math.floor(size / 2)) {
    const publish = () => relay.ask('POST', '/channels/fill', { key, body: { msg: 'x'.repeat(size) } });
    while ((await publish()).status === 200);
  }
  return { id, ref: json.ref };
}

test('at the limit of a plan every kind of write is refused, but not reading and deleting', async () => {
  await using relay = await startGuarded({ core: plan() });
  const key = await relay.key();
  const small = await newThread(relay, key);
  const { body: bundle } = await bundleOf(relay, key, small);
  await relay.ask('DELETE', `/threads/${small}`, { key });
  const { id, ref } = await fillStorage(relay, key);
  const used = await usedOf(relay, key);
  const refused: [string, unknown, Record<string, string>?][] = [
    ['/threads', { name: 'another' }],
    [`/threads/${id}/state/patch`, [FACT]],
    [`/threads/${id}/artifacts`, { name: 'a.txt', type: 'text', content: 'words' }],
    [
      `/threads/${id}/artifacts?name=a.txt`,
      new Uint8Array(20),
      { 'Content-Type': 'application/octet-stream' },
    ],
    [`/threads/${id}/events`, { type: 'note.made', payload: { text: 'x' } }],
    [`/threads/${id}/envelopes`, { to_capability: 'x', payload: { a: 1 } }],
    ['/threads/import', bundle, { 'Content-Type': 'application/zip' }],
    [`/reports/${id}`, { format: 'md' }],
    ['/cap/invoke', { capability: 'retrieval.search', thread_id: id, args: { query: 'x' } }],
    ['/channels/news', { msg: 'words' }],
    ['/push', { data: 'words', channel: 'news' }],
  ];
  for (const [path, body, headers] of refused) {
    const { status, json, text } = await relay.ask('POST', path, { key, body, headers });
    assert.equal(status, 402, `${path}: ${text}`);
    assert.deepEqual(
      [json.code, json.plan, json.limit, json.used],
      ['over_storage', 'small', ROOM, used],
      path,
    );
    assert.match(json.hint, /relay thread rm/, path);
  }
  assert.equal(await usedOf(relay, key), used);
  assert.ok(used <= ROOM);
  // A push without a channel has other limits, and reads still work.
  assert.equal((await relay.ask('POST', '/push', { key, body: 'words' })).status, 200);
  assert.equal((await relay.ask('GET', `/threads/${id}/artifacts/${ref}?raw=1`, { key })).status, 200);
  assert.equal((await relay.ask('GET', `/threads/${id}/state/header`, { key })).status, 200);
  assert.equal((await relay.ask('DELETE', `/threads/${id}/artifacts/${ref}`, { key })).status, 200);
  assert.equal((await relay.ask('POST', '/channels/news', { key, body: { msg: 'words' } })).status, 200);
  // Another tenant has its own storage limit.
  const other = await relay.key({ tenant: 'other' });
  await newThread(relay, other);
});

async function bundleOf(relay: GuardedRelay, key: CreatedKey, id: string): Promise<{ body: Uint8Array }> {
  const headers = { Authorization: `Bearer ${key.key}` };
  const response = await fetch(`${relay.url}/threads/${id}/export`, { headers });
  return { body: new Uint8Array(await response.arrayBuffer()) };
}

test('MCP refuses writes at the limit with an error that says what to do', async () => {
  await using relay = await startGuarded({ core: plan() });
  const key = await relay.key();
  const { id } = await fillStorage(relay, key);
  await using mcp = await overHttp(relay.url, '2025-11-25', { Authorization: `Bearer ${key.key}` });
  for (const [tool, args] of [
    ['thread_patch', { thread_id: id, ops: [FACT] }],
    ['artifact_put', { thread_id: id, name: 'a.txt', content: 'words' }],
    ['channel_publish', { channel: 'news', message: 'words' }],
    ['push_context', { data: 'words', channel: 'news' }],
  ] as const) {
    const output = await mcp.call(tool, args);
    assert.match(output, /^Error .*The plan small allows 40000 bytes/, tool);
    assert.match(output, /relay thread rm/, tool);
  }
});

const WAYS: [
  string,
  (relay: GuardedRelay, key: CreatedKey, at: { id: string; ref: string }) => Promise<unknown>,
][] = [
  ['deleting a thread', (relay, key, { id }) => relay.ask('DELETE', `/threads/${id}`, { key })],
  [
    'deleting one artifact',
    (relay, key, { id, ref }) => relay.ask('DELETE', `/threads/${id}/artifacts/${ref}`, { key }),
  ],
  [
    'trimming the messages of channels',
    async (relay) => {
      relay.advance(25 * HOUR);
      await relay.core.sweepStore();
    },
  ],
];
for (const [way, free] of WAYS) {
  test(`${way} frees exactly the space it used`, async () => {
    await using relay = await startGuarded({ core: plan() });
    const key = await relay.key();
    const at = await fillStorage(relay, key);
    const publish = () => relay.ask('POST', '/channels/news', { key, body: { msg: 'words' } });
    assert.equal((await publish()).status, 402);
    await free(relay, key, at);
    assert.equal((await publish()).status, 200);
    assert.equal(await usedOf(relay, key), await heldBy(relay.engine, [at.id], ['fill', 'news']));
  });
}

test('an expired thread frees its space', async () => {
  await using relay = await startGuarded({ core: plan() });
  const key = await relay.key();
  const id = await newThread(relay, key, { ttl: 60 });
  await putArtifact(relay, key, id, ROOM - 3_000);
  assert.equal((await putArtifact(relay, key, id, 3_000)).status, 402);
  relay.advance(61_000);
  await relay.ask('GET', '/threads', { key });
  await relay.core.sweepStore();
  assert.equal(await usedOf(relay, key), 0);
  const next = await newThread(relay, key);
  assert.equal((await putArtifact(relay, key, next, 3_000)).status, 201);
});

test('imported data is counted like written data', async () => {
  await using relay = await startGuarded({ core: plan() });
  const key = await relay.key();
  const id = await newThread(relay, key);
  await putArtifact(relay, key, id, 9_000);
  const { body } = await bundleOf(relay, key, id);
  const before = await usedOf(relay, key);
  await relay.ask('DELETE', `/threads/${id}`, { key });
  assert.equal(await usedOf(relay, key), 0);
  const headers = { 'Content-Type': 'application/zip' };
  assert.equal((await relay.ask('POST', '/threads/import', { key, body, headers })).status, 201);
  assert.equal(await usedOf(relay, key), before);
});

test('failed and repeated writes are not counted', async () => {
  await using relay = await startGuarded({ core: plan() });
  const key = await relay.key();
  const id = await newThread(relay, key);
  const twice = { 'Idempotency-Key': 'one' };
  for (let i = 0; i < 2; i++) {
    await relay.ask('POST', '/channels/news', { key, body: { msg: 'once' }, headers: twice });
    await relay.ask('POST', '/push', { key, body: { data: 'once', channel: 'news' }, headers: twice });
    await relay.ask('POST', `/threads/${id}/state/patch`, { key, body: [FACT], headers: twice });
    const artifact = { name: 'a.txt', type: 'text', content: 'once' };
    await relay.ask('POST', `/threads/${id}/artifacts`, { key, body: artifact, headers: twice });
  }
  const wrong = [{ op: 'remove', path: '/nothing' }];
  assert.notEqual((await relay.ask('POST', `/threads/${id}/state/patch`, { key, body: wrong })).status, 200);
  const { json } = await relay.ask('GET', `/threads/${id}/artifacts`, { key });
  const { ref } = json.artifacts[0];
  for (let i = 0; i < 2; i++) await relay.ask('DELETE', `/threads/${id}/artifacts/${ref}`, { key });
  assert.equal(await usedOf(relay, key), await heldBy(relay.engine, [id], ['news']));
});

test('without keys there is no limit', async () => {
  await using relay = await startGuarded({ core: { ...plan(1), auth: 'open' }, server: { auth: 'open' } });
  assert.equal((await relay.ask('POST', '/threads', { body: { name: 't' } })).status, 201);
  assert.ok((await relay.ask('GET', '/usage')).json.storage.used > 0);
});
