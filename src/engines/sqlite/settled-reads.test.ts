import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ChangeMark } from './change-mark.ts';
import { ENTRY_CHARS, SettledReads } from './settled-reads.ts';

function held(max: number) {
  let generation = 1;
  const mark = { generation: () => generation } as ChangeMark;
  return { reads: new SettledReads<string>(mark, max), commit: () => ++generation };
}

test('what was read stays until anything is committed', () => {
  const { reads, commit } = held(16 * ENTRY_CHARS);
  assert.equal(reads.get('a'), undefined);
  reads.set('a', 'x', 1);
  assert.equal(reads.get('a'), 'x');
  commit();
  assert.equal(reads.get('a'), undefined);
});

test('it never holds more than it may', () => {
  const { reads } = held(16 * ENTRY_CHARS);
  const keys = Array.from({ length: 100 }, (_, i) => `k${i}`);
  const kept = () => keys.filter((key) => reads.get(key) !== undefined);
  reads.get('');
  reads.set('large', 'x', ENTRY_CHARS);
  assert.equal(reads.get('large'), undefined, 'one that would crowd out the rest is not held');
  for (const key of keys) reads.set(key, key, ENTRY_CHARS - key.length);
  assert.ok(kept().length > 0 && kept().length <= 8, String(kept()));
});

test('many small ones are not held without end', () => {
  const { reads } = held(16 * ENTRY_CHARS);
  const keys = Array.from({ length: 1000 }, (_, i) => `k${i}`);
  reads.get('');
  for (const key of keys) reads.set(key, key, 0);
  const kept = keys.filter((key) => reads.get(key) !== undefined);
  assert.ok(kept.length > 0 && kept.length <= 16, String(kept));
});

test('without a mark it holds nothing', () => {
  const reads = new SettledReads<string>(null, 100);
  reads.set('a', 'x', 1);
  assert.equal(reads.get('a'), undefined);
});
