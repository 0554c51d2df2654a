import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openMemory } from './engine.ts';

test('sequence numbers and revisions have gaps, so that no code relies on consecutive numbers', async () => {
  await using engine = openMemory();
  const { sequences, revisions } = await written(engine);
  assert.ok(sequences.at(-1)! > 200, 'some sequences were left out');
  assert.ok(revisions.at(-1)! > 200, 'some revisions were left out');
});

test('without gaps, sequence numbers and revisions count up from 1', async () => {
  await using engine = openMemory({ gaps: false });
  const { sequences, revisions } = await written(engine);
  const counted = Array.from({ length: 200 }, (_, i) => i + 1);
  assert.deepEqual(sequences, counted);
  assert.deepEqual(revisions, counted);
});

test('a body is sometimes returned whole and sometimes as a stream', async () => {
  await using engine = openMemory();
  await engine.blobs.put('a', new Uint8Array(1000));
  const kinds = new Set<boolean>();
  for (let i = 0; i < 100; i++) kinds.add((await engine.blobs.get('a'))!.body instanceof Uint8Array);
  assert.deepEqual([...kinds].sort(), [false, true]);
});

test('all readers share one frozen record', async () => {
  await using engine = openMemory();
  await engine.records.put('a/1', { list: [1] });
  const found = (await engine.records.get('a/1'))!;
  assert.equal(await engine.records.get('a/1'), found);
  for (const part of [found, found.value, (found.value as { list: number[] }).list]) {
    assert.ok(Object.isFrozen(part));
  }
  await engine.records.put('a/1', { list: [2] });
  assert.deepEqual((await engine.records.get('a/1'))?.value, { list: [2] });
});

test('closing the engine ends the subscriptions', async () => {
  const engine = openMemory();
  const { signal } = new AbortController();
  const iterator = engine.logs.subscribe('a', { signal })[Symbol.asyncIterator]();
  const waiting = iterator.next();
  await engine[Symbol.asyncDispose]();
  assert.equal((await waiting).done, true);
});

async function written(engine: ReturnType<typeof openMemory>) {
  const sequences: number[] = [];
  const revisions: number[] = [];
  for (let i = 0; i < 200; i++) {
    sequences.push((await engine.logs.append('a', i))!);
    revisions.push((await engine.records.put('a', i))!);
  }
  return { sequences, revisions };
}
