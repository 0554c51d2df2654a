import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diffLines } from './line-diff.ts';

const short = (from: string, to: string) =>
  diffLines([...from], [...to])
    .map(({ kind, text }) => ({ same: ' ', added: '+', removed: '-' })[kind] + text)
    .join('');

test('finds the shortest edit from one text to the other', () => {
  assert.equal(short('abc', 'abc'), ' a b c');
  assert.equal(short('', 'ab'), '+a+b');
  assert.equal(short('ab', ''), '-a-b');
  assert.equal(short('abcd', 'axcd'), ' a-b+x c d');
  assert.equal(short('abcabba', 'cbabac').replace(/[ +]/g, '').replace(/-./g, ''), 'cbabac');
});

test('both texts can be rebuilt from the difference', () => {
  let seed = 7;
  const next = () => (seed = (seed * 16_807) % 2_147_483_647);
  for (let round = 0; round < 200; round++) {
    const make = () => Array.from({ length: next() % 30 }, () => 'abcde'[next() % 5]!);
    const [from, to] = [make(), make()];
    const lines = diffLines(from, to);
    const without = (kind: string) => lines.filter((line) => line.kind !== kind).map(({ text }) => text);
    assert.deepEqual(without('added'), from);
    assert.deepEqual(without('removed'), to);
  }
});
