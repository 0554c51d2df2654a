import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { mirrored, openLocal, temporaryHome } from './local-store.ts';

/** Returns twelve real texts: sources of this project. */
function realTexts(): { name: string; text: string }[] {
  const folder = fileURLToPath(new URL('../../src/domain/threads/', import.meta.url));
  return readdirSync(folder)
    .filter((name) => name.endsWith('.ts'))
    .slice(0, 12)
    .map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') }));
}

test('a count by hand confirms the tokens saved by twelve real texts', async (t) => {
  await using store = await openLocal(temporaryHome(t));
  const { thread_id: thread } = await store.threads.create();
  const texts = realTexts();
  let naive = 0;
  let actual = 0;
  for (const { name, text } of texts) {
    const artifact = await store.threads.putArtifact(thread, { body: Buffer.from(text), name, type: 'text' });
    naive += encode(text).length;
    actual += encode(artifact.preview.text).length;
  }
  const stats = await store.threads.stats(thread);
  assert.deepEqual(
    [stats.artifacts, stats.naive_tokens, stats.actual_tokens, stats.avoided_tokens, stats.tokenizer],
    [12, naive, actual, naive - actual, 'o200k_base'],
  );
  assert.ok(stats.avoided_tokens > 0);
});

test('a thread moved to another machine has the same state, artifacts, events, hashes and files', async (t) => {
  const [home, other] = [temporaryHome(t), temporaryHome(t)];
  await using here = await openLocal(home);
  await using there = await openLocal(other);
  const { thread_id: thread } = await here.threads.create({ name: 'to carry' });
  for (const { name, text } of realTexts().slice(0, 3)) {
    await here.threads.putArtifact(thread, { body: Buffer.from(text), name });
    await here.threads.patch(thread, {
      ops: [{ op: 'add', path: '/facts/-', value: { id: name, key: 'file', value: text.slice(0, 100_000) } }],
    });
  }
  await here.threads.import(new Uint8Array(10)).catch(() => {});
  const { body } = await here.threads.export(thread);
  await there.threads.import(body);
  await there.threads.delete(thread);
  await there.threads.import((await here.threads.export(thread)).body);
  for (const at of [1, 2, 5, 7]) {
    assert.deepEqual(await there.threads.state(thread, { at }), await here.threads.state(thread, { at }));
  }
  assert.deepEqual(await there.threads.artifacts(thread), await here.threads.artifacts(thread));
  assert.deepEqual(await there.threads.events(thread), await here.threads.events(thread));
  assert.equal((await there.threads.replay(thread)).sha256, (await here.threads.replay(thread)).sha256);
  for (const store of [here, there]) await (await store.core.threads()).log.settle();
  assert.deepEqual(mirrored(other, thread), mirrored(home, thread));
  const files = (base: string) => {
    const folder = join(base, 'threads', thread, 'artifacts');
    return readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]);
  };
  assert.deepEqual(files(other), files(home));
});
