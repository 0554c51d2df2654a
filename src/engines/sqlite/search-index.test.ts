import assert from 'node:assert/strict';
import { test } from 'node:test';
import { matchOf, segmented, unsegmented } from './search-index.ts';

test('every word of a query is quoted, and the last is a prefix', () => {
  assert.equal(matchOf('fast relay'), '"fast" AND "relay"*');
  assert.equal(
    matchOf('  NEAR(a b) OR "x" * -y^2 '),
    '"NEAR" AND "a" AND "b" AND "OR" AND "x" AND "y" AND "2"*',
  );
  assert.equal(matchOf('foo-bar_baz'), '"foo" AND "bar" AND "baz"*');
});

test('a query without a word asks for nothing', () => {
  for (const query of ['', '   ', '"', '***', '()', '\0', '\u200b', '—…!', '\u0301'])
    assert.equal(matchOf(query), null, query);
});

test('a word said twice is looked up once, and a flood of words is cut', () => {
  assert.equal(matchOf('a b a b a'), '"a" AND "b" AND "a"*');
  const flood = matchOf(Array.from({ length: 5000 }, (_, i) => `w${i}`).join(' '))!;
  assert.equal(flood.split(' AND ').length, 65);
});

test('letters of scripts without spaces become words, and can be put together again', () => {
  const text = 'Das ist 東京タワー, ok? ภาษาไทย 한국어';
  assert.notEqual(segmented(text), text);
  assert.equal(unsegmented(segmented(text)), text);
  assert.equal(unsegmented(matchOf('東京')!), '"東京"*');
  assert.equal(segmented('plain words'), 'plain words');
});

test('what would be taken for a mark of ours is taken out of a text', () => {
  assert.equal(segmented('a\u0002b\u0003c\u0000d\u200be'), 'a b c d e');
  assert.ok(segmented('lone \ud800 surrogate').isWellFormed());
});
