import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LOCAL_CALLER } from '../../src/contract/caller.ts';
import { httpRelay } from '../../src/sdk/http-relay.ts';
import { pushJson, startRelay } from '../http/relay-under-test.ts';
import { startGuarded } from '../keys/guarded-relay.ts';

test('pointers are listed newest first, in pages, without expired pointers and without payloads', async () => {
  await using relay = await startRelay();
  const api = httpRelay({ baseUrl: relay.url });
  const ids: string[] = [];
  for (let i = 0; i < 7; i++) {
    const { answer } = await pushJson(relay, {
      data: `payload-${i}`,
      channel: i % 2 ? 'odd' : 'even',
      ttl: i === 3 ? 1 : 60,
    });
    ids.unshift(answer.id);
    relay.advance(10);
  }
  await api.pointers.delete(ids[0]!);
  relay.advance(2_000);
  const expected = ids.filter((_, i) => i !== 0 && i !== 3);
  const listedIds: string[] = [];
  for (let after: string | undefined; ; ) {
    const page = await api.pointers.list({ after, limit: 2 });
    listedIds.push(...page.pointers.map(({ id }) => id));
    if (page.next === undefined) break;
    after = page.next;
  }
  assert.deepEqual(listedIds, expected);
  const { pointers } = await api.pointers.list({ channel: 'odd' });
  assert.ok(pointers.length > 0 && pointers.every(({ channel }) => channel === 'odd'));
  assert.equal(pointers[0]!.url, `${relay.url}/pull/${pointers[0]!.id}`);
  assert.deepEqual((await api.pointers.list({ from: 'nobody' })).pointers, []);
  assert.ok(!JSON.stringify(await api.pointers.list()).includes('payload-'));
});

test('a repeated push is listed once', async () => {
  await using relay = await startRelay();
  const once = () => pushJson(relay, { data: 'x' }, { 'Idempotency-Key': 'k' });
  const [{ answer }] = await Promise.all([once(), once(), once()]);
  relay.advance(5);
  await once();
  const { pointers } = await httpRelay({ baseUrl: relay.url }).pointers.list();
  assert.deepEqual(
    pointers.map(({ id }) => id),
    [answer.id],
  );
});

test('a key limited to channels sees the pointers on these channels and its own', async () => {
  await using relay = await startGuarded({ core: { defaultPlan: 'team' } });
  const [all, bound] = [await relay.key({}), await relay.key({ channel_prefix: 'mine.' })];
  await relay.ask('POST', '/push?channel=other', { key: all, body: 'a' });
  await relay.ask('POST', '/push', { key: all, body: 'b' });
  await relay.ask('POST', '/push?channel=mine.x', { key: all, body: 'c' });
  await relay.ask('POST', '/push', { key: bound, body: 'd' });
  const count = async (key: typeof all) =>
    (await relay.ask('GET', '/pointers', { key })).json.pointers.length;
  assert.deepEqual([await count(all), await count(bound)], [4, 2]);
  assert.equal(await count(await relay.key({ tenant: 'evil' })), 0);
});

test('blame names for each item the version that added it, the author, the time and the source', async () => {
  await using relay = await startRelay();
  const api = httpRelay({ baseUrl: relay.url });
  const { thread_id: id } = await api.threads.create();
  const fact = (key: string, value: string) => ({ id: key, key, value });
  const patch = (...ops: Parameters<typeof api.threads.patch>[1]['ops']) => api.threads.patch(id, { ops });
  await patch(
    { op: 'add', path: '/facts/-', value: fact('a', '1') },
    { op: 'add', path: '/session_summary', value: 's' },
  );
  await patch({ op: 'add', path: '/facts/-', value: fact('b', '1') });
  await patch({ op: 'replace', path: '/facts/0/value', value: '2' });
  await patch({ op: 'remove', path: '/facts/0' }, { op: 'add', path: '/facts/-', value: fact('c', '1') });
  const { ref } = await api.threads.putArtifact(id, { body: new TextEncoder().encode('x'), name: 'a.txt' });
  const lines = async (at?: string) =>
    Object.fromEntries((await api.threads.blame(id, { at })).lines.map((line) => [line.path, line]));
  const now = await lines();
  assert.deepEqual(Object.keys(now).sort(), ['/artifacts/0', '/facts/0', '/facts/1', '/session_summary']);
  assert.deepEqual(
    [now['/facts/0']!.version, now['/facts/1']!.version, now['/session_summary']!.version],
    [3, 5, 2],
  );
  assert.deepEqual(
    [now['/facts/0']!.by, now['/facts/0']!.how, now['/facts/0']!.event],
    ['local', 'patch', '3'],
  );
  assert.deepEqual([now['/artifacts/0']!.how, now['/artifacts/0']!.from], ['artifact', ref]);
  const then = await lines('v4');
  assert.deepEqual([then['/facts/0']!.version, then['/facts/1']!.version], [4, 3]);
  await api.threads.revert(id, { to: 'v2' });
  const reverted = await lines();
  assert.deepEqual([reverted['/facts/0']!.how, reverted['/facts/0']!.from], ['revert', 'v2']);
  await assert.rejects(api.threads.blame(id, { at: 'v99' }), /version 99/);
});

test('blame of a long thread is right for any version, in any order of requests', async () => {
  await using relay = await startRelay();
  const api = relay.core.relay(LOCAL_CALLER, relay.url);
  const { thread_id: id } = await api.threads.create();
  for (let at = 0; at < 450; at++)
    await api.threads.patch(id, {
      ops: [
        {
          op: at < 5 ? 'add' : 'replace',
          path: at < 5 ? '/facts/-' : `/facts/${(at * 3) % 5}`,
          value: { id: `f${at}`, key: 'k', value: at },
        },
      ],
    });
  // Version n + 2 wrote the value n.
  for (const version of [451, 6, 399, 401, 203, 201, 450, 451]) {
    const { lines } = await api.threads.blame(id, { at: version });
    const { facts } = await api.threads.state(id, { at: version, counted: false });
    assert.deepEqual(
      lines.filter(({ path }) => path.startsWith('/facts/')).map((line) => line.version),
      facts.map(({ value }) => Number(value) + 2),
      `at v${version}`,
    );
  }
});

test('a write that changes nothing does not change the author that blame names', async () => {
  await using relay = await startRelay();
  const api = httpRelay({ baseUrl: relay.url });
  const { thread_id: id } = await api.threads.create();
  const fact = { id: 'a', key: 'a', value: 'one' };
  const patch = (...ops: Parameters<typeof api.threads.patch>[1]['ops']) => api.threads.patch(id, { ops });
  await patch(
    { op: 'add', path: '/facts/-', value: fact },
    { op: 'add', path: '/session_summary', value: 's' },
  );
  await patch(
    { op: 'replace', path: '/facts/0', value: { value: 'one', key: 'a', id: 'a' } },
    { op: 'replace', path: '/session_summary', value: 's' },
  );
  await patch({ op: 'replace', path: '/facts', value: [fact, { ...fact, id: 'b' }] });
  const { lines } = await api.threads.blame(id);
  assert.deepEqual(
    lines.map(({ path, version }) => [path, version]),
    [
      ['/facts/0', 2],
      ['/facts/1', 4],
      ['/session_summary', 2],
    ],
  );
});
