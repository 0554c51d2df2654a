import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BodyCache } from './body-cache.ts';

const body = (length: number) => new Uint8Array(length);

test('a body comes back for its key and hash, and for no other', () => {
  const cache = new BodyCache(100);
  const kept = body(10);
  cache.set('a', 'h1', kept);
  assert.equal(cache.get('a', 'h1'), kept);
  assert.equal(cache.get('b', 'h1'), undefined);
  assert.equal(cache.get('a', 'h2'), undefined);
  assert.equal(cache.get('a', 'h1'), undefined, 'what was replaced is forgotten');
});

test('what was read longest ago goes first, and the bytes held stay within the limit', () => {
  const cache = new BodyCache(100);
  cache.set('a', 'h', body(40));
  cache.set('b', 'h', body(40));
  cache.get('a', 'h');
  cache.set('c', 'h', body(40));
  assert.ok(cache.get('a', 'h'));
  assert.equal(cache.get('b', 'h'), undefined);
  assert.ok(cache.get('c', 'h'));
  cache.set('d', 'h', body(101));
  assert.deepEqual(
    ['a', 'c', 'd'].map((key) => cache.get(key, 'h')),
    [undefined, undefined, undefined],
  );
});

test('setting a key again counts it once', () => {
  const cache = new BodyCache(100);
  for (let i = 0; i < 10; i++) cache.set('a', 'h', body(60));
  cache.set('b', 'h', body(40));
  assert.ok(cache.get('a', 'h'));
});
