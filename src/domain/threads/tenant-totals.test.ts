import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openThreads, text } from '../../../test/threads/open-threads.ts';
import { openMemory } from '../../engines/memory/engine.ts';
import type { Engine } from '../../kernel/engine.ts';

/** An engine that counts what is read from it. */
function counted(): { engine: Engine; reads: () => number } {
  const engine = openMemory();
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
  return { engine: { ...engine, records, logs }, reads: () => reads };
}

test('the totals of a tenant are kept, not added up again for each who asks', async () => {
  const { engine, reads } = counted();
  const { api } = openThreads({ engine });
  for (let i = 0; i < 50; i++) await api.create();
  assert.equal((await api.totals()).threads, 50);
  const before = reads();
  assert.equal((await api.totals()).threads, 50);
  assert.ok(reads() - before < 10, `${reads() - before} reads`);
});

test('they follow every change, of other processes too', async () => {
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
  await one.core.settle();
  assert.equal((await other.api.totals()).breakdown.header_reads, 1);
  await one.api.delete(gone.thread_id);
  assert.equal((await other.api.totals()).threads, 1);
  assert.equal((await other.as('eve', 'another').totals()).threads, 0);
  const { thread_id: _, ...alone } = await one.api.stats(thread_id);
  assert.deepEqual(await other.api.totals(), { threads: 1, ...alone });
});

test('who has missed changes that are no longer told adds up anew', async () => {
  const one = openThreads();
  const other = one.again();
  await one.api.create();
  assert.equal((await other.api.totals()).threads, 1);
  for (let i = 0; i < 3; i++) await one.api.create();
  const { last } = await one.engine.logs.info('tch.local');
  await one.engine.logs.trim('tch.local', { before: last });
  assert.equal((await other.api.totals()).threads, 4);
});
