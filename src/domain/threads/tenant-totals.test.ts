import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openThreads, stoppedClock, text } from '../../../test/threads/open-threads.ts';
import { openMemory } from '../../engines/memory/engine.ts';
import type { Engine } from '../../kernel/engine.ts';
import { removeExpiredThreads } from './thread-removal.ts';

/** Returns a memory engine that counts the reads of records and logs. */
function counted() {
  const env = stoppedClock();
  const engine = openMemory({ env });
  let reads = 0;
  const counting = <T extends object>(port: T, names: readonly (keyof T)[]) =>
    new Proxy(port, {
      get(target, name) {
        if (names.includes(name as keyof T)) reads++;
        const value = target[name as keyof T];
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  const records = counting(engine.records, ['get', 'list']);
  const logs = counting(engine.logs, ['read', 'info']);
  const watched: Engine = { ...engine, records, logs };
  return { engine: watched, reads: () => reads, env };
}

test('the figures of threads are cached, not computed again for each request', async () => {
  const { engine, reads, env } = counted();
  const { api } = openThreads({ engine, env });
  for (let i = 0; i < 50; i++) await api.create();
  env.advance(61_000);
  assert.equal((await api.totals()).threads, 50);
  const before = reads();
  assert.equal((await api.totals()).threads, 50);
  assert.ok(reads() - before < 10, `${reads() - before} reads`);
});

test('totals follow every change, also of other processes', async () => {
  const one = openThreads();
  const other = one.again();
  const { thread_id } = await one.api.create();
  const gone = await one.api.create();
  assert.equal((await other.api.totals()).threads, 2);
  await one.api.putArtifact(thread_id, { body: text('some words that count'), name: 'a.txt' });
  const { naive_tokens, artifacts } = await other.api.totals();
  assert.ok(naive_tokens > 0);
  assert.equal(artifacts, 1);
  await one.api.header(thread_id);
  await one.core.log.settle();
  assert.equal((await other.api.totals()).breakdown.header_reads, 1);
  await one.api.delete(gone.thread_id);
  assert.equal((await other.api.totals()).threads, 1);
  assert.equal((await other.as('eve', 'another').totals()).threads, 0);
  const { thread_id: _, recent_prompts: __, ...alone } = await one.api.stats(thread_id);
  assert.deepEqual(await other.api.totals(), { threads: 1, ...alone });
});

test('a thread that is marked before its change is visible is read again', async () => {
  const one = openThreads();
  const late = one.again();
  await one.api.create();
  assert.equal((await late.api.totals()).threads, 1);
  // Simulate an engine without transactions: the thread is already marked as changed, but its change is not visible
  // yet.
  const { thread_id } = await one.api.create();
  const key = `thr.${thread_id}/meta`;
  const { value } = (await one.engine.records.get(key))!;
  await one.engine.records.delete(key);
  assert.equal((await late.api.totals()).threads, 1);
  await one.engine.records.put(key, value);
  assert.equal((await late.api.totals()).threads, 2);
});

test('another process uses the cached figures and reads only threads changed since', async () => {
  const { engine, reads, env } = counted();
  const one = openThreads({ engine, env });
  for (let i = 0; i < 300; i++) await one.api.create();
  const [first] = (await one.api.list({ limit: 1 })).threads;
  env.advance(61_000);
  assert.equal((await one.api.totals()).threads, 300);
  await one.api.putArtifact(first!.thread_id, { body: text('some words that count'), name: 'a.txt' });
  const expected = await one.api.totals();
  const before = reads();
  assert.deepEqual(await one.again().api.totals(), expected);
  assert.ok(reads() - before < 30, `${reads() - before} reads`);
  assert.equal(expected.artifacts, 1);
  for (let i = 0; i < 150; i++) await one.again().api.create();
  assert.equal((await one.again().api.totals()).threads, 450);
});

test('data that an earlier version stored for the totals is deleted once they are computed', async () => {
  const { api, engine } = openThreads();
  const { thread_id } = await api.create();
  await engine.records.delete(`ten.local/thread-figures/${thread_id}`);
  await engine.logs.append('tch.local', thread_id);
  await engine.blobs.put('ten.local/totals.2/a', text('[]'));
  await engine.records.put('ten.local/totals.2', { seq: 1, blob: 'ten.local/totals.2/a' });
  assert.equal((await api.totals()).threads, 1);
  assert.equal((await engine.logs.info('tch.local')).count, 0);
  assert.equal(await engine.records.get('ten.local/totals.2'), null);
  assert.equal(await engine.blobs.get('ten.local/totals.2/a'), null);
});

test('an expired thread is in no total', async () => {
  const env = stoppedClock();
  const one = openThreads({ env });
  await one.api.create();
  await one.api.create({ ttl: 60 });
  assert.equal((await one.api.totals()).threads, 2);
  env.advance(61_000);
  await removeExpiredThreads(one.again().core.log);
  assert.equal((await one.api.totals()).threads, 1);
});

test('a change whose mark could not be written is still in the totals of the next process', async () => {
  const engine = openMemory();
  const one = openThreads({ engine });
  const { thread_id } = await one.api.create();
  await one.api.totals();
  await engine.records.delete(`ten.local/thread-figures/${thread_id}`);
  const put: typeof engine.records.put = async (key, ...rest) => {
    if (key.includes('/thread-figures/')) throw new Error('no room');
    return engine.records.put(key, ...rest);
  };
  const records = new Proxy(engine.records, {
    get: (target, name) => (name === 'put' ? put : target[name as keyof typeof target]).bind(target),
  });
  const cut = openThreads({ engine: { ...engine, records } });
  await cut.api.putArtifact(thread_id, { body: text('some words that count'), name: 'a.txt' });
  assert.equal((await cut.api.totals()).artifacts, 1);
  assert.equal((await one.again().api.totals()).artifacts, 1);
});
