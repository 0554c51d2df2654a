import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openThreads, stoppedClock, text } from '../../../test/threads/open-threads.ts';
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
  const { thread_id: _, recent_prompts: __, ...alone } = await one.api.stats(thread_id);
  assert.deepEqual(await other.api.totals(), { threads: 1, ...alone });
});

test('a thread that is told of before it can be seen is looked for again', async () => {
  const one = openThreads();
  const late = one.again();
  // As on an engine without transactions: the change is told, and what it tells of comes to light a moment later.
  for (const before of [0, 1]) {
    const { thread_id } = await one.api.create();
    const { items } = await one.engine.records.list('ten.local/threads/');
    const listed = items.find(({ key }) => key.endsWith(thread_id))!.key;
    // At first the list is read, then each thread that is told of.
    const key = before === 0 ? listed : `thr.${thread_id}/meta`;
    const { value } = (await one.engine.records.get(key))!;
    await one.engine.records.delete(key);
    assert.equal((await late.api.totals()).threads, before);
    await one.engine.records.put(key, value);
    assert.equal((await late.api.totals()).threads, before + 1);
  }
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

test('another process takes up what was saved, and looks only at what has changed since', async () => {
  const { engine, reads } = counted();
  const one = openThreads({ engine });
  for (let i = 0; i < 300; i++) await one.api.create();
  const [first] = (await one.api.list({ limit: 1 })).threads;
  assert.equal((await one.api.totals()).threads, 300);
  const { count } = await engine.logs.info('tch.local');
  assert.ok(count < 10, `${count} changes are told, all of which are in the figures`);
  await one.api.putArtifact(first!.thread_id, { body: text('some words that count'), name: 'a.txt' });
  const expected = await one.api.totals();
  const before = reads();
  assert.deepEqual(await one.again().api.totals(), expected);
  assert.ok(reads() - before < 30, `${reads() - before} reads`);
  assert.equal(expected.artifacts, 1);
  // One that held figures of before what is told goes on from the saved ones.
  for (let i = 0; i < 150; i++) await one.again().api.create();
  assert.equal((await one.again().api.totals()).threads, 450);
  const behind = reads();
  assert.equal((await one.api.totals()).threads, 450);
  assert.ok(reads() - behind < 30, `${reads() - behind} reads`);
});

test('the log of changes stays short, whoever asks for totals or nobody does', async () => {
  const { api, engine, core } = openThreads();
  const { thread_id } = await api.create();
  for (let i = 0; i <= 20_000; i++) await engine.logs.append('tch.local', thread_id);
  let created = 1;
  // One change in many looks how many there are.
  while ((await engine.logs.info('tch.local')).count > 20_000) {
    await api.create();
    created++;
    await core.settle();
  }
  assert.ok((await engine.logs.info('tch.local')).count < 10);
  assert.equal((await api.totals()).threads, created);
});

test('a thread that has expired is in no total', async () => {
  const env = stoppedClock();
  const one = openThreads({ env });
  await one.api.create();
  await one.api.create({ ttl: 60 });
  assert.equal((await one.api.totals()).threads, 2);
  env.advance(61_000);
  await one.again().core.removeExpired();
  assert.equal((await one.api.totals()).threads, 1);
});

test('a change that could not be told is in what the next process finds', async () => {
  const engine = openMemory();
  const one = openThreads({ engine });
  for (let i = 0; i < 120; i++) await one.api.create();
  const { thread_id } = await one.api.create();
  await one.api.totals();
  const append: typeof engine.logs.append = async (stream, ...rest) => {
    if (stream.startsWith('tch.')) throw new Error('no room');
    return engine.logs.append(stream, ...rest);
  };
  const logs = new Proxy(engine.logs, {
    get: (target, name) => {
      const value = name === 'append' ? append : target[name as keyof typeof target];
      return value.bind(target);
    },
  });
  const cut = openThreads({ engine: { ...engine, logs } });
  await cut.api.putArtifact(thread_id, { body: text('some words that count'), name: 'a.txt' });
  assert.equal((await cut.api.totals()).artifacts, 1);
  assert.equal((await one.again().api.totals()).artifacts, 1);
});

test('what was read is told in the same turn in which it is counted', async () => {
  const engine = openMemory();
  let turn = 0;
  const turns: { [what: string]: number } = {};
  const noting = <T extends object>(port: T, method: keyof T, prefix: string, suffix = '') =>
    new Proxy(port, {
      get(target, name) {
        const value = target[name as keyof T] as (...args: unknown[]) => unknown;
        return (...args: unknown[]) => {
          const key = String(args[0]);
          if (name === method && key.startsWith(prefix) && key.endsWith(suffix)) turns[prefix] = turn;
          queueMicrotask(() => turn++);
          return value.apply(target, args);
        };
      },
    });
  const records = noting(engine.records, 'add', 'thr.', '/ledger/headers_times');
  const { api, core } = openThreads({
    engine: { ...engine, records, logs: noting(engine.logs, 'append', 'tch.') },
  });
  const { thread_id } = await api.create();
  await api.header(thread_id);
  await core.settle();
  assert.ok(turns['thr.'] !== undefined && turns['thr.'] === turns['tch.'], JSON.stringify(turns));
});
