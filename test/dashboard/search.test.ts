import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeUtf8 } from '../../src/base/utf8.ts';
import { httpRelay } from '../../src/sdk/http-relay.ts';
import { pushJson, startRelay } from '../http/relay-under-test.ts';
import { startGuarded } from '../keys/guarded-relay.ts';
import { until } from '../until.ts';

test('pointers are found by words of their summary, metadata, channel and handle, in any case', async () => {
  await using relay = await startRelay();
  const api = httpRelay({ baseUrl: relay.url });
  const push = async (metadata: object, channel?: string) =>
    (await pushJson(relay, { data: 'x', metadata, channel })).answer.id as string;
  const diff = await push({ summary: 'The Fix for Checkout', filename: 'fix.diff' }, 'reviews');
  const menu = await push({ summary: 'Ménu "du jour" 100%', tags: ['lunch'], nested: { a: 'deep' } });
  await push({});
  const search = async (q: string) => (await api.pointers.list({ q })).pointers.map(({ id }) => id);
  assert.deepEqual(await search('checkout fix'), [diff]);
  assert.deepEqual(await search('fix.diff REVIEWS'), [diff]);
  assert.deepEqual(await search('relay:1'), [diff]);
  assert.deepEqual(await search('MÉNU "du 100%'), [menu]);
  assert.deepEqual(await search('deep lunch'), [menu]);
  assert.deepEqual(await search('checkout lunch'), []);
  assert.deepEqual(await search('"'), [menu]);
  assert.equal((await search('')).length, 3);
  await assert.rejects(api.pointers.list({ q: 'x'.repeat(201) }), { code: 'bad_request' });
});

test('a search reads past many pointers that do not match', async () => {
  await using relay = await startRelay();
  const api = httpRelay({ baseUrl: relay.url });
  const { answer } = await pushJson(relay, { data: 'x', metadata: { summary: 'needle' } });
  for (let n = 0; n < 250; n++) await pushJson(relay, { data: 'x', metadata: { summary: `hay ${n}` } });
  const { pointers, next } = await api.pointers.list({ q: 'needle', limit: 5 });
  assert.deepEqual([pointers.map(({ id }) => id), next], [[answer.id], undefined]);
});

test('threads are found by name and creator, artifacts of all threads by content, files by path', async () => {
  await using relay = await startRelay();
  const api = httpRelay({ baseUrl: relay.url });
  const { thread_id: slow } = await api.threads.create({ name: 'Checkout latency' });
  const { thread_id: other } = await api.threads.create({ name: 'Release notes' });
  const { ref } = await api.threads.putArtifact(other, {
    name: 'a.md',
    body: encodeUtf8('The walrus sings.'),
  });
  const names = async (q: string) =>
    (await api.threads.list({ q })).threads.map(({ thread_id }) => thread_id);
  assert.deepEqual([await names('LATENCY check'), await names('walrus')], [[slow], []]);
  const { thread_id: foreign } = await httpRelay({ baseUrl: relay.url, agent: 'planner' }).threads.create();
  const { threads } = await api.threads.list({ by: 'planner' });
  assert.deepEqual(
    threads.map(({ thread_id, by }) => [thread_id, by]),
    [[foreign, 'planner']],
  );
  const { hits } = await api.threads.searchAll('walrus');
  assert.deepEqual(
    hits.map((hit) => [hit.ref, hit.thread_id]),
    [[ref, other]],
  );
  for (const path of ['src/main.ts', 'docs/Main-page.md', 'other.txt'])
    await api.files.put('app', path, { body: encodeUtf8('x') });
  const { files } = await api.files.list('app', { q: 'main' });
  assert.deepEqual(
    files.map(({ path }) => path),
    ['docs/Main-page.md', 'src/main.ts'],
  );
});

test('writes and deletions of files are activity, visible with the scope files', async () => {
  await using relay = await startGuarded({ core: { defaultPlan: 'team' } });
  const [all, watcher] = [await relay.key({}), await relay.key({ scopes: ['subscribe'] })];
  await relay.ask('PUT', '/files/app/src/main.ts', { key: all, body: 'one' });
  await relay.ask('DELETE', '/files/app/src/main.ts', { key: all });
  const activitiesOf = async (key: typeof all) =>
    (await relay.ask('GET', '/activity', { key })).json.activities;
  assert.deepEqual(
    (await activitiesOf(all))
      .filter(({ kind }: { kind: string }) => kind.startsWith('file.'))
      .map(({ kind, space, name, version, size }: Record<string, unknown>) => [
        kind,
        space,
        name,
        version,
        size,
      ]),
    [
      ['file.deleted', 'app', 'src/main.ts', undefined, undefined],
      ['file.written', 'app', 'src/main.ts', 1, 3],
    ],
  );
  assert.deepEqual(await activitiesOf(watcher), []);
});

test('a group lists its waiting messages with attempts, next try and last error', async () => {
  await using relay = await startRelay();
  const api = httpRelay({ baseUrl: relay.url });
  await api.channels.publish('jobs', 'first');
  const closing = new AbortController();
  for await (const { seq, token } of api.channels.subscribe('jobs', {
    group: 'workers',
    since: 'all',
    signal: closing.signal,
  })) {
    await api.channels.setGroup('jobs', 'workers', { retry: [60_000] });
    await api.channels.nack('jobs', 'workers', { seq, token: token!, why: 'exit code 3' });
    closing.abort();
  }
  const inspect = async () => (await api.channels.inspect('jobs')).groups[0]!;
  await until(async () => (await inspect()).members.length === 0);
  await api.channels.publish('jobs', 'second');
  const group = await inspect();
  const [first, second] = group.waiting;
  assert.deepEqual([group.backlog, group.waiting.length], [2, 2]);
  assert.deepEqual([first!.attempt, first!.why], [1, 'exit code 3']);
  assert.ok(Date.parse(first!.retry_at!) > 0);
  assert.deepEqual([second!.attempt, second!.retry_at, second!.why], [0, null, undefined]);
});

test('only admins of the relay see the size of the store', async () => {
  await using relay = await startGuarded({ core: { defaultPlan: 'team' } });
  const ownKey = await relay.key({ scopes: ['push'] });
  assert.equal((await relay.ask('GET', '/usage?store=1', { key: ownKey })).json.store, undefined);
  await using open = await startRelay();
  await pushJson(open, { data: 'twelve bytes' });
  const { store } = await httpRelay({ baseUrl: open.url }).usage.get({ store: true });
  assert.deepEqual([store!.payloads, store!.payload_bytes], [1, 12]);
  assert.equal((await httpRelay({ baseUrl: open.url }).usage.get()).store, undefined);
});
