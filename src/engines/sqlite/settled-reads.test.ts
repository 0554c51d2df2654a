import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ENTRY_CHARS, SettledReads } from './settled-reads.ts';

function held(max: number) {
  const state = { version: 1, commits: 0, fails: false };
  const dataVersion = () => {
    if (state.fails) throw new Error('busy');
    return state.version;
  };
  return { state, reads: new SettledReads<string>({ dataVersion }, state, max) };
}

test('what was read stays until anyone commits', () => {
  const { reads, state } = held(16 * ENTRY_CHARS);
  for (const commit of [() => state.version++, () => state.commits++]) {
    assert.equal(reads.get('a'), undefined);
    reads.set('a', 'x', 1);
    assert.equal(reads.get('a'), 'x');
    commit();
    assert.equal(reads.get('a'), undefined);
  }
});

test('nothing is given while SQLite cannot say whether anyone has committed, nor is what was read meanwhile', () => {
  const { reads, state } = held(16 * ENTRY_CHARS);
  reads.get('a');
  reads.set('a', 'x', 1);
  state.fails = true;
  assert.equal(reads.get('a'), undefined);
  reads.set('a', 'y', 1);
  assert.equal(reads.get('a'), undefined);
  reads.set('a', 'z', 1);
  state.fails = false;
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
