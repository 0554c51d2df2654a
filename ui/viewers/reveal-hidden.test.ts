import assert from 'node:assert/strict';
import { test } from 'node:test';
import { revealHidden } from './reveal-hidden.ts';

test('control characters become visible', () => {
  assert.equal(revealHidden('\u001b[31mred\u0007\u009b'), '␛[31mred␇‹U+009B›');
  assert.equal(revealHidden('a\tb\nc\r\n'), 'a\tb\nc\r\n');
});

test('direction and invisible characters become visible', () => {
  assert.equal(revealHidden('gpj.\u202eexe\u200b\u{e0041}'), 'gpj.‹U+202E›exe‹U+200B›‹U+E0041›');
  assert.equal(revealHidden('ü 漢字 👩 עברית'), 'ü 漢字 👩 עברית');
});
