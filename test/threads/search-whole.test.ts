import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { loadConfig } from '../../src/app/config.ts';
import { openCore } from '../../src/app/store/open-core.ts';
import { readBytes } from '../../src/base/byte-streams.ts';
import { systemEnv } from '../../src/base/env.ts';
import { LOCAL_CALLER } from '../../src/contract/caller.ts';
import type { ThreadsApi } from '../../src/contract/threads.ts';
import { bareRoot } from '../../src/domain/threads/keys.ts';
import { openUnderTest } from '../engine-under-test.ts';
import { until } from '../until.ts';
import { importFrom } from './legacy-checks.ts';
import { LegacyHome } from './legacy-home.ts';
import { temporaryHome } from './local-store.ts';
import { openThreads, text } from './open-threads.ts';

const STRAW = 'straw lies in the barn, and there is more of it than anyone would count\n';
/** A text of 1.5 MiB with the search word on its last line. */
const LINES = Math.ceil((1.5 * 1024 * 1024) / STRAW.length);
const HAYSTACK = `${STRAW.repeat(LINES)}at last a needle\n`;

async function openStore(home: string, role: 'server' | 'cli' = 'server') {
  const opened = await openCore(loadConfig({ RELAY_HOME: home }), role);
  const { threads } = opened.core.relay(LOCAL_CALLER, 'http://relay.invalid');
  return { ...opened, threads };
}

async function isFound(threads: ThreadsApi, thread: string): Promise<boolean> {
  return (await threads.search(thread, 'needle')).hits.length > 0;
}

async function putHaystack(threads: ThreadsApi): Promise<{ thread: string; ref: string }> {
  const { thread_id: thread } = await threads.create();
  const { ref } = await threads.putArtifact(thread, { body: text(HAYSTACK), name: 'barn.txt' });
  return { thread, ref };
}

/** Returns the number of search-index documents of an artifact. */
function documents(home: string, ref: string): number {
  using db = new DatabaseSync(join(home, 'relay.db'), { readOnly: true }) as DatabaseSync & Disposable;
  const sql = 'SELECT count(*) AS count FROM documents WHERE fields LIKE ?';
  return (db.prepare(sql).get(`%${ref}%`) as { count: number }).count;
}

for (const role of ['cli', 'server'] as const) {
  test(`a search covers an artifact to its end, stored by a ${role}`, async (t: TestContext) => {
    await using store = await openStore(temporaryHome(t), role);
    const { threads } = store;
    const { thread, ref } = await putHaystack(threads);
    await until(() => isFound(threads, thread));
    const answer = await threads.search(thread, 'needle');
    assert.deepEqual(
      answer.hits.map((hit) => [hit.ref, hit.snippet.includes('at last a **needle**')]),
      [[ref, true]],
    );
    const { line } = answer.hits[0]!;
    assert.ok(line > LINES - 10 && line <= LINES + 1, `line ${line} of ${LINES + 1}`);
    assert.equal(answer.unsearched, undefined);
  });
}

test('an artifact from a bundle is searchable to its end', async (t) => {
  await using source = await openStore(temporaryHome(t));
  const { thread } = await putHaystack(source.threads);
  await source.threads.putArtifact(thread, { body: text(''), name: 'thimble.txt' });
  const bundle = await readBytes((await source.threads.export(thread)).body);
  await using target = await openStore(temporaryHome(t));
  await target.threads.import(bundle);
  await until(() => isFound(target.threads, thread));
  const { hits } = await target.threads.search(thread, 'thimble');
  assert.deepEqual([hits.length, hits[0]?.name], [1, 'thimble.txt'], 'what is empty is found by its name');
});

test('an artifact from a Go relay is searchable to its end', async (t) => {
  const [dir, target] = [temporaryHome(t), temporaryHome(t)];
  const thread = '0b0e1f6a-3f55-4a0c-9a44-6c1a52d3a9f1';
  {
    using legacy = new LegacyHome(dir);
    const content = HAYSTACK;
    legacy.thread(thread, 'barn').artifact({ type: 'text', mime: 'text/plain', ext: '.txt', content });
  }
  assert.equal((await importFrom(dir, target)).code, 0);
  await using store = await openStore(target, 'cli');
  const answer = await store.threads.search(thread, 'needle');
  assert.deepEqual([answer.hits.length, answer.unsearched], [1, undefined]);
});

test('a deleted artifact leaves nothing in the index, even while it is being indexed', async (t) => {
  const home = temporaryHome(t);
  await using store = await openStore(home);
  const { thread, ref } = await putHaystack(store.threads);
  const again = await store.threads.putArtifact(thread, { body: text(`${HAYSTACK}.`), name: 'again.txt' });
  await Promise.all([ref, again.ref].map((each) => store.threads.deleteArtifact(thread, each)));
  await (await store.core.threads()).log.background.settle();
  assert.deepEqual((await store.threads.search(thread, 'straw needle')).hits, []);
  assert.deepEqual([documents(home, ref), documents(home, again.ref)], [0, 0]);
});

test('unfinished indexing is continued by the next process', async (t) => {
  const home = temporaryHome(t);
  const { thread, ref } = await (async () => {
    await using store = await openStore(home, 'cli');
    const haystack = await putHaystack(store.threads);
    const { log } = await store.core.threads();
    const artifact = await store.threads.artifact(haystack.thread, haystack.ref);
    await log.background.settle();
    await log.index.remove('local', artifact);
    await log.index.plan('local', bareRoot(haystack.thread), artifact);
    return haystack;
  })();
  assert.equal(documents(home, ref), 0);
  await using store = await openStore(home);
  const { hits, unsearched } = await store.threads.search(thread, 'needle');
  if (hits.length === 0)
    assert.deepEqual(
      [unsearched?.indexing, unsearched?.artifacts.map((each) => [each.ref, each.size])],
      [true, [[ref, HAYSTACK.length]]],
    );
  await until(() => isFound(store.threads, thread));
});

test('an artifact that an earlier version indexed in part is indexed again in the background', async (t) => {
  const home = temporaryHome(t);
  const { thread, ref } = await (async () => {
    await using store = await openStore(home, 'cli');
    const haystack = await putHaystack(store.threads);
    const { log } = await store.core.threads();
    await log.background.settle();
    const artifact = await store.threads.artifact(haystack.thread, haystack.ref);
    await log.index.remove('local', artifact);
    const { engine } = store;
    const beginning = `barn.txt\n${HAYSTACK.slice(0, 1024 * 1024 - 9)}`;
    const fields = { ref: haystack.ref, thread_id: haystack.thread, name: 'barn.txt', type: 'text' };
    await engine.index.put(`ten.local/artifacts/${haystack.thread}/${haystack.ref}`, beginning, fields);
    await engine.records.delete('ten.local/index-pass');
    return haystack;
  })();
  await using store = await openStore(home);
  assert.equal((await store.threads.search(thread, 'straw')).hits[0]?.ref, ref, 'it is found meanwhile');
  await until(() => isFound(store.threads, thread));
  await until(async () => (await store.threads.search(thread, 'needle')).unsearched === undefined);
});

test('a search reports how much it covers if an engine indexes only part of an artifact', async () => {
  const whole = openUnderTest(systemEnv);
  const limits = { ...whole.limits, indexedBytes: 1024 * 1024 };
  const { api } = openThreads({ engine: Object.assign(Object.create(whole), { limits }) });
  const { thread, ref } = await putHaystack(api);
  const { hits, unsearched } = await api.search(thread, 'needle');
  assert.deepEqual(hits, []);
  const [first] = unsearched?.artifacts ?? [];
  const { searched = 0, ...rest } = first ?? {};
  assert.deepEqual(
    [unsearched?.indexing, unsearched?.artifacts.length, rest],
    [false, 1, { ref, thread_id: thread, size: HAYSTACK.length }],
  );
  assert.ok(searched >= 1024 * 1024 && searched < 1024 * 1024 + 8192, String(searched));
  assert.equal((await api.search(thread, 'straw')).hits[0]?.ref, ref);
});

test('a long artifact in sections gives as many passages as a short one', async () => {
  const { api } = openThreads();
  const { thread } = await putHaystack(api);
  const { ref } = await api.putArtifact(thread, {
    body: text('A straw of another kind.'),
    name: 'other.txt',
  });
  const { hits } = await api.search(thread, 'straw', { limit: 100 });
  assert.equal(hits.length, 11);
  assert.ok(hits.some((hit) => hit.ref === ref));
});
