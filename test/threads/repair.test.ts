import assert from 'node:assert/strict';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { repairThreads } from '../../src/app/store/maintenance.ts';
import { mirrored, openLocal, temporaryHome } from './local-store.ts';
import { text } from './open-threads.ts';

test('a repair rebuilds the files and the search index of every thread from the logs', async (t) => {
  const home = temporaryHome(t);
  await using store = await openLocal(home);
  const artifacts: { thread: string; ref: string }[] = [];
  for (const name of ['one', 'two']) {
    const { thread_id: thread } = await store.threads.create({ name });
    const { ref } = await store.threads.putArtifact(thread, { body: text(`The words of ${name}.`), name });
    artifacts.push({ thread, ref });
  }
  await (await store.core.threads()).log.settle();
  for (const { thread, ref } of artifacts) {
    writeFileSync(join(home, 'threads', thread, 'events.log'), '{"id":"1"}\n{"id":"2"}\n');
    rmSync(join(home, 'threads', thread, 'state.json'));
    await store.core.deps.engine.index.remove(`ten.local/artifacts/${thread}/${ref}`);
    assert.deepEqual((await store.threads.search(thread, 'words')).hits, []);
  }
  assert.deepEqual(await repairThreads(store.legible, store.core), { threads: 2, artifacts: 2, missing: [] });
  for (const { thread, ref } of artifacts) {
    const files = mirrored(home, thread);
    assert.deepEqual(files.state, await store.threads.state(thread));
    assert.deepEqual(files.events, (await store.threads.events(thread)).events);
    assert.equal((await store.threads.search(thread, 'words')).hits[0]?.ref, ref);
  }
  const [{ thread, ref }] = artifacts as [{ thread: string; ref: string }];
  const content = join(home, 'threads', thread, 'artifacts', `${ref}.txt`);
  assert.ok(existsSync(content));
  rmSync(content);
  assert.deepEqual((await repairThreads(store.legible, store.core)).missing, [`${thread}/${ref}`]);
});

test('an artifact longer than the search limit is found and repaired', async (t) => {
  const home = temporaryHome(t);
  await using store = await openLocal(home);
  const { thread_id: thread } = await store.threads.create({ name: 'large' });
  const body = text(`The needle.\n${'straw '.repeat(200_000)}`);
  const { ref } = await store.threads.putArtifact(thread, { body, name: 'haystack.txt' });
  assert.equal((await store.threads.search(thread, 'needle')).hits[0]?.ref, ref);
  await store.core.deps.engine.index.remove(`ten.local/artifacts/${thread}/${ref}`);
  assert.deepEqual((await repairThreads(store.legible, store.core)).missing, []);
  assert.equal((await store.threads.search(thread, 'needle')).hits[0]?.ref, ref);
});
