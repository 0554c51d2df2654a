import assert from 'node:assert/strict';
import { test } from 'node:test';
import { equalInConstantTime, sha256Hex } from '../../src/base/hash.ts';
import { startGuarded } from '../keys/guarded-relay.ts';

const NOBODY = '00000000-0000-4000-8000-000000000000';

test('missing, foreign, expired and revoked pointers give the same answer, byte for byte', async () => {
  await using relay = await startGuarded();
  const [mine, theirs] = [await relay.key({ tenant: 'acme' }), await relay.key({ tenant: 'umbrella' })];
  const push = async (fields = {}) =>
    (await relay.ask('POST', '/push', { key: theirs, body: { data: 'secret', ...fields } })).json
      .id as string;
  const [foreign, expired, revoked] = [await push(), await push({ ttl: 1 }), await push()];
  await relay.ask('DELETE', `/pull/${revoked}`, { key: theirs });
  relay.advance(2000);
  for (const path of [
    '/pull/ID',
    '/peek/ID',
    '/pull/ID?raw=1',
    '/pull/ID?cost=1',
    '/pull/ID?lines=1',
    '/pull/ID/receipts',
  ]) {
    const answers = new Set<string>();
    for (const id of [NOBODY, foreign, expired, revoked, 'no-uuid']) {
      const { status, text, headers } = await relay.ask('GET', path.replace('ID', id), { key: mine });
      const visibleHeaders = [...headers].filter(([name]) => name !== 'date').sort();
      answers.add(JSON.stringify([status, text, visibleHeaders]));
    }
    assert.equal(answers.size, 1, path);
    assert.match([...answers][0]!, /^\[404,/);
  }
  const removals = new Set<string>();
  for (const id of [NOBODY, foreign, expired, revoked]) {
    removals.add((await relay.ask('DELETE', `/pull/${id}`, { key: mine })).text);
  }
  assert.equal(removals.size, 1);
  assert.equal((await relay.ask('GET', `/pull/${foreign}`, { key: theirs })).status, 200);
});

test("a tenant's pointer cannot be read by its link alone; a public one can, but only read", async () => {
  await using relay = await startGuarded();
  const key = await relay.key();
  const push = async (fields = {}) =>
    (await relay.ask('POST', '/push', { key, body: { data: 'x', ...fields } })).json.id as string;
  const [ownId, link] = [await push(), await push({ visibility: 'link' })];
  assert.equal((await relay.ask('GET', `/pull/${ownId}`)).status, 404);
  assert.equal((await relay.ask('HEAD', `/pull/${ownId}`)).status, 404);
  for (const path of [
    `/pull/${link}`,
    `/peek/${link}`,
    `/pull/${link}?raw=1`,
    `/v1/pull/${link}?outline=1`,
  ]) {
    assert.equal((await relay.ask('GET', path)).status, 200, path);
  }
  assert.equal((await relay.ask('DELETE', `/pull/${link}`)).status, 401);
  assert.equal((await relay.ask('GET', `/pull/${link}/receipts`)).status, 401);
});

test('ids reveal nothing about each other', async () => {
  await using relay = await startGuarded({ core: { defaultPlan: 'team' } });
  const key = await relay.key();
  const ids: string[] = [];
  for (let i = 0; i < 50; i++) ids.push((await relay.ask('POST', '/push', { key, body: 'x' })).json.id);
  // Each hex digit must vary between ids, except the version and the variant of the UUID.
  const hex = ids.map((id) => id.replaceAll('-', ''));
  for (let at = 0; at < 32; at++) {
    if (at === 12 || at === 16) continue;
    const column = hex.map((id) => id[at]);
    assert.ok(new Set(column).size > 4, `character ${at}`);
    assert.notDeepEqual(column, column.toSorted());
  }
});

test("one tenant's channels, inboxes and keys do not exist for another", async () => {
  await using relay = await startGuarded();
  const [mine, theirs] = [
    await relay.key({ tenant: 'acme', scopes: ['admin', 'push', 'pull', 'subscribe'] }),
    await relay.key({ tenant: 'umbrella', scopes: ['admin', 'push', 'pull', 'subscribe'] }),
  ];
  await relay.ask('POST', '/channels/plans', { key: theirs, body: { msg: 'secret' } });
  await relay.ask('POST', '/inbox/bob/channels', { key: theirs, body: { channel: 'plans', since: 'all' } });
  const responses = [
    await relay.ask('GET', '/channels', { key: mine }),
    await relay.ask('GET', '/channels/plans', { key: mine }),
    await relay.ask('GET', '/channels/plans/position', { key: mine }),
    await relay.ask('GET', '/inbox/bob', { key: mine }),
    await relay.ask('GET', '/keys?all=1', { key: mine }),
    await relay.ask('GET', '/usage', { key: mine }),
  ];
  for (const { text } of responses) {
    assert.ok(!text.includes('secret'));
    assert.ok(!text.includes(theirs.id));
    assert.ok(!text.includes('umbrella'));
  }
  assert.deepEqual(responses[0]!.json.channels, []);
  assert.deepEqual(responses[3]!.json.messages, []);
});

test("one tenant's threads, artifacts, events and search do not exist for another", async () => {
  await using relay = await startGuarded();
  const [mine, theirs] = [await relay.key({ tenant: 'acme' }), await relay.key({ tenant: 'umbrella' })];
  const { json } = await relay.ask('POST', '/threads', { key: theirs, body: { name: 'secret plan' } });
  const thread = `/threads/${json.thread_id}`;
  const artifact = { name: 'notes', type: 'text', mime: 'text/plain', content: 'secret words' };
  const { json: storedArtifact } = await relay.ask('POST', `${thread}/artifacts`, {
    key: theirs,
    body: artifact,
  });
  assert.equal((await relay.ask('GET', thread, { key: theirs })).status, 200);
  assert.deepEqual((await relay.ask('GET', '/threads', { key: mine })).json.threads, []);
  for (const path of [
    '',
    '/state',
    '/state/header',
    '/events',
    '/events?stream=1',
    '/artifacts',
    `/artifacts/${storedArtifact.ref}`,
    `/artifacts/${storedArtifact.ref}/content`,
    '/search?q=secret',
    '/export',
  ]) {
    const foreign = await relay.ask('GET', thread + path, { key: mine });
    const missing = await relay.ask('GET', `/threads/${NOBODY}${path}`, { key: mine });
    assert.equal(foreign.status, 404, path);
    assert.deepEqual(
      [foreign.status, foreign.text],
      [missing.status, missing.text.replaceAll(NOBODY, json.thread_id)],
    );
  }
  const patch = [{ op: 'add', path: '/facts/-', value: { id: 'f', key: 'a', value: 'b' } }];
  assert.equal((await relay.ask('POST', `${thread}/state/patch`, { key: mine, body: patch })).status, 404);
  assert.equal((await relay.ask('DELETE', thread, { key: mine })).status, 404);
  assert.equal((await relay.ask('GET', thread, { key: theirs })).status, 200);
});

test('a key is looked up by its hash, once, and compared in constant time', async () => {
  await using relay = await startGuarded();
  const { key } = await relay.key();
  const { records } = relay.engine;
  const lookups: string[] = [];
  const [get, list] = [records.get.bind(records), records.list.bind(records)];
  records.get = (name) => {
    lookups.push(name);
    return get(name);
  };
  records.list = (prefix, o) => {
    lookups.push(prefix);
    return list(prefix, o);
  };
  const right = `key.${await sha256Hex(key)}/key`;
  assert.ok(await relay.core.keys.authenticate(key));
  assert.deepEqual(lookups, [right]);
  const wrong = key.slice(0, -1) + (key.endsWith('A') ? 'B' : 'A');
  assert.equal(await relay.core.keys.authenticate(wrong), null);
  assert.deepEqual(lookups, [right, `key.${await sha256Hex(wrong)}/key`]);
  // The record of a key gives no access if it is stored under the hash of another key.
  await records.put(`key.${await sha256Hex(wrong)}/key`, (await get(right))!.value);
  assert.equal(await relay.core.keys.authenticate(wrong), null);
});

test('the comparison reads every character, even after a difference', () => {
  assert.ok(equalInConstantTime('abc', 'abc'));
  for (const other of ['abd', 'xbc', 'ab', 'abcd', '', 'abcabc']) {
    assert.ok(!equalInConstantTime('abc', other), other);
    assert.ok(!equalInConstantTime(other, 'abc'), other);
  }
  let looks = 0;
  const counted = {
    length: 4,
    charCodeAt(i: number) {
      looks += 1;
      return 'zbcd'.charCodeAt(i);
    },
  };
  equalInConstantTime(counted as unknown as string, 'abcd');
  assert.equal(looks, 4);
});
