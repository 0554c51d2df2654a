import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ChangeMark } from './change-mark.ts';
import { SettledReads } from './settled-reads.ts';

function held(max: number) {
  let generation = 1;
  const mark = { generation: () => generation } as ChangeMark;
  return { reads: new SettledReads<string>(mark, max), commit: () => ++generation };
}

test('what was read stays until anything is committed', () => {
  const { reads, commit } = held(100);
  assert.equal(reads.get('a'), undefined);
  reads.set('a', 'x', 1);
  assert.equal(reads.get('a'), 'x');
  commit();
  assert.equal(reads.get('a'), undefined);
});

test('it never holds more than it may', () => {
  const { reads } = held(80);
  reads.get('');
  reads.set('large', 'x', 11);
  assert.equal(reads.get('large'), undefined, 'one that would crowd out the rest is not held');
  const keys = Array.from({ length: 100 }, (_, i) => `k${i}`);
  for (const key of keys) reads.set(key, key, 10);
  const kept = keys.filter((key) => reads.get(key) !== undefined);
  assert.ok(kept.length > 0 && kept.length <= 8, String(kept));
});

test('without a mark it holds nothing', () => {
  const reads = new SettledReads<string>(null, 100);
  reads.set('a', 'x', 1);
  assert.equal(reads.get('a'), undefined);
});
