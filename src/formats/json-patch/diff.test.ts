import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Json } from '../../base/json.ts';
import { applyPatch } from './apply.ts';
import { diffJson } from './diff.ts';

describe('diffJson', () => {
  it('gives the operations that a person would write', () => {
    assert.deepEqual(diffJson({ a: 1, b: [1, 2] }, { a: 1, b: [1, 2] }), []);
    assert.deepEqual(diffJson({ list: [1, 2] }, { list: [1, 2, 3] }), [
      { op: 'add', path: '/list/2', value: 3 },
    ]);
    assert.deepEqual(diffJson({ list: [1, 2, 3] }, { list: [1, 3] }), [{ op: 'remove', path: '/list/1' }]);
    assert.deepEqual(diffJson({ list: [{ id: 1, s: 'open' }] }, { list: [{ id: 1, s: 'done' }] }), [
      { op: 'replace', path: '/list/0/s', value: 'done' },
    ]);
    assert.deepEqual(diffJson({ 'a/b': 1 }, { 'm~n': 1 }), [
      { op: 'remove', path: '/a~1b' },
      { op: 'add', path: '/m~0n', value: 1 },
    ]);
    assert.deepEqual(diffJson([], {}), [{ op: 'replace', path: '', value: {} }]);
  });

  it('produces a patch that turns any value into any other', () => {
    let seed = 11;
    const random = (below: number) => {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      return Math.floor((seed / 2147483648) * below);
    };
    const make = (depth: number): Json => {
      const kind = random(depth > 0 ? 6 : 3);
      if (kind < 3) return [random(4), `s${random(3)}`, null][kind]!;
      if (kind < 5) return Array.from({ length: random(7) }, () => make(depth - 1));
      return Object.fromEntries(Array.from({ length: random(5) }, () => [`k${random(5)}`, make(depth - 1)]));
    };
    for (let i = 0; i < 3000; i++) {
      const from = { doc: make(3) };
      const to = { doc: make(3) };
      assert.deepEqual(applyPatch(from, diffJson(from, to)).doc, to);
    }
  });

  it('handles very many lists of medium length', () => {
    const lists = (length: number) =>
      Array.from({ length: 400 }, (_, i) => Array.from({ length }, (_x, j) => (i * 31 + j * 7) % 251));
    const [from, to] = [{ lists: lists(400) }, { lists: lists(399).map((list) => list.toReversed()) }];
    assert.deepEqual(applyPatch(from, diffJson(from, to)).doc, to);
  });

  it('handles long lists that have nothing in common', () => {
    const from = { list: Array.from({ length: 2000 }, (_, i) => i) };
    const to = { list: Array.from({ length: 1500 }, (_, i) => `x${i}`) };
    assert.deepEqual(applyPatch(from, diffJson(from, to)).doc, to);
  });
});
