import assert from 'node:assert/strict';
import { test } from 'node:test';
import { visible } from './visible.ts';

test('what a terminal would obey is shown', () => {
  assert.equal(visible('\u001b[31mred\u0007\u009b'), '␛[31mred␇‹U+009B›');
  assert.equal(visible('a\tb\nc\r\n'), 'a\tb\nc\r\n');
});

test('what turns text around or hides in it is shown', () => {
  assert.equal(visible('gpj.\u202eexe\u200b\u{e0041}'), 'gpj.‹U+202E›exe‹U+200B›‹U+E0041›');
  assert.equal(visible('ü 漢字 👩 עברית'), 'ü 漢字 👩 עברית');
});
