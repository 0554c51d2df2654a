import assert from 'node:assert/strict';
import { test } from 'node:test';
import { queryTerms } from '../kernel/passages.ts';
import { ftsPattern, joinLetters, splitLetters } from './full-text.ts';

test('each query word is quoted and also matches words that start with it', () => {
  const matches = (query: string) => queryTerms(query).map(ftsPattern);
  assert.deepEqual(matches('fast relays'), ['"fast"*', '"relay"*']);
  assert.deepEqual(matches('  NEAR(q b) "x" * -y^2 '), ['"near"*', '"q"', '"b"', '"x"', '"y"', '"2"*']);
  for (const query of ['', '   ', '"', '***', '()', '\0', '\u200b', '—…!', '\u0301'])
    assert.deepEqual(matches(query), [], query);
});

test('splitLetters separates the letters of scripts without spaces, and joinLetters restores the text', () => {
  const text = 'Das ist 東京タワー, ok? ภาษาไทย 한국어';
  assert.notEqual(splitLetters(text), text);
  assert.equal(joinLetters(splitLetters(text)), text);
  assert.deepEqual(queryTerms('東京').map(ftsPattern).map(joinLetters), ['"東京"']);
  assert.equal(splitLetters('plain words'), 'plain words');
});

test('control characters that mark matches are removed from a text', () => {
  assert.equal(splitLetters('a\u0002b\u0003c\u0000d\u200be'), 'a b c d e');
  assert.ok(splitLetters('lone \ud800 surrogate').isWellFormed());
});
