import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { MARKS, SPACED_WORDS, WORDS } from './frequent-words.ts';
import { tokensAtMost } from './token-bound.ts';

const words = (list: string) => list.trim().split(/\s+/);

test('every frequent word is one token in the forms it is listed for', () => {
  for (const word of words(WORDS)) {
    const capital = word[0]!.toUpperCase() + word.slice(1);
    for (const form of [word, ` ${word}`, capital, ` ${capital}`]) assert.equal(encode(form).length, 1, form);
  }
  for (const word of words(SPACED_WORDS)) assert.equal(encode(` ${word}`).length, 1, word);
  for (const mark of MARKS) assert.equal(encode(mark).length, 1, JSON.stringify(mark));
});

test('any two small letters are one token, but for the pairs that are named', () => {
  const letters = [...'abcdefghijklmnopqrstuvwxyz'];
  for (const a of letters) {
    assert.equal(encode(` ${a}`).length, 1);
    for (const b of letters) {
      const whole = encode(a + b).length === 1;
      assert.equal(tokensAtMost(`aa${a}${b}aa`) === 6, !whole, `${a}${b} is ${whole ? '' : 'not '}a token`);
    }
  }
  for (let n = 0; n < 1000; n++) assert.equal(encode(String(n).padStart(3, '0')).length, 1);
  for (let n = 2; n <= 16; n++) assert.equal(encode(' '.repeat(n)).length, 1);
});

test('the bound holds for every text, and is near for plain English', () => {
  let seed = 11;
  const roll = (n: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed % n;
  };
  const bits = [
    'the',
    ' decision',
    ' Relay',
    'XML',
    " don't",
    "WE'LL",
    'é',
    'straße',
    ' 漢字',
    '👩‍👩‍👧',
    '\u0301',
    ' ',
    '   ',
    '\t',
    '\n',
    '\r\n',
    '\n\n',
    '- ',
    '# ',
    '...',
    ' ->',
    '//',
    '/\n',
    '1234567',
    '½',
    'zq',
    ' qzwv',
    'aAbB',
    '\u00a0',
    '\u200b',
    'ﬁ',
    '\ud800',
    'ǅ',
  ];
  for (let round = 0; round < 4000; round++) {
    const text = Array.from({ length: roll(12) + 1 }, () => bits[roll(bits.length)]).join('');
    const real = encode(text).length;
    assert.ok(tokensAtMost(text) >= real, `${JSON.stringify(text)}: ${tokensAtMost(text)} < ${real}`);
  }
  for (let round = 0; round < 2000; round++) {
    const text = Array.from({ length: roll(30) + 1 }, () => String.fromCharCode(97 + roll(26))).join('');
    assert.ok(tokensAtMost(text) >= encode(text).length, text);
  }
  const prose = readFileSync(new URL('./token-bound.ts', import.meta.url), 'utf8').slice(0, 600);
  assert.ok(tokensAtMost(prose) >= encode(prose).length);
  const plain =
    'The project has a new decision: store each message in one table, and add an index for the search.\n';
  assert.ok(
    tokensAtMost(plain) <= encode(plain).length * 1.1,
    `${tokensAtMost(plain)} for ${encode(plain).length}`,
  );
});
