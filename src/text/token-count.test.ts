import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { countTokens as reference } from 'gpt-tokenizer/encoding/o200k_base';
import { TOKEN_COUNT_CHARS } from '../base/limits.ts';
import { countTokens } from './token-count.ts';

const plain = { disallowedSpecial: new Set<string>() };

/** The same texts in every run: a failure can be looked at again. */
function chance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return state / 2 ** 32;
  };
}

test('a figure comes with the name of its tokenizer and says that it is exact', () => {
  assert.deepEqual(countTokens('hello world'), { tokens: 2, tokenizer: 'o200k_base', estimated: false });
  assert.deepEqual(countTokens(''), { tokens: 0, tokenizer: 'o200k_base', estimated: false });
});

test('what looks like a special token is plain text', () => {
  assert.equal(countTokens('<|endoftext|>').tokens, 7);
});

test('the count is that of the published tokenizer for any mix of scripts', () => {
  const random = chance(7);
  const sources = [
    'abc',
    'ABCdef',
    'aé',
    'ÿ',
    '中文字。',
    '😀👍🏽',
    ' \n\t',
    '\r\n ',
    '123',
    '.,;/=-_',
    "'s",
    'ا ب',
    'ḧ̷',
    '\0',
  ];
  for (let round = 0; round < 2000; round++) {
    let text = '';
    for (let i = random() * 30; i > 0; i--) {
      const source = sources[Math.floor(random() * sources.length)]!;
      const chars = [...source];
      text += random() < 0.4 ? source : chars[Math.floor(random() * chars.length)];
    }
    assert.equal(countTokens(text).tokens, reference(text, plain), JSON.stringify(text));
  }
});

test('a long run without a break is counted like any other text', () => {
  const random = chance(3);
  let letters = '';
  let ideographs = '';
  for (let i = 0; i < 1500; i++) letters += 'abcdefghij'[Math.floor(random() * 10)];
  for (let i = 0; i < 500; i++) ideographs += String.fromCharCode(0x4e00 + Math.floor(random() * 3000));
  for (const text of [letters, ideographs, 'a'.repeat(1500), ' '.repeat(1500), '='.repeat(1500)]) {
    assert.deepEqual(countTokens(text), {
      tokens: reference(text, plain),
      tokenizer: 'o200k_base',
      estimated: false,
    });
  }
});

test('a long text is counted in slices and still exactly', () => {
  const random = chance(5);
  const words = [
    'the',
    'Relay',
    "don't",
    'x1',
    '12345',
    '\n',
    '\n\n',
    'straße',
    '東京。',
    'привет',
    '()',
    '…',
    'aB',
    '//',
  ];
  let text = '';
  while (text.length < 100_000)
    text += words[Math.floor(random() * words.length)] + (random() < 0.7 ? ' ' : '');
  assert.deepEqual(countTokens(text), {
    tokens: reference(text, plain),
    tokenizer: 'o200k_base',
    estimated: false,
  });
});

test('where a token might span the end of a slice, the figure is exact or says that it is not', () => {
  const random = chance(11);
  const alphabets = [
    [';', '\n', '/'],
    ['a', "'ll", '\n'],
    ['東', '。', '、'],
    ['A', 'b', '9'],
    ['é', ' ', "'"],
  ];
  for (const alphabet of alphabets) {
    let text = '';
    while (text.length < 20_000) text += alphabet[Math.floor(random() * alphabet.length)];
    const { tokens, estimated } = countTokens(text);
    if (!estimated) assert.equal(tokens, reference(text, plain), JSON.stringify(alphabet));
  }
});

test('a run that no slice can end in makes an estimate that says so', () => {
  const { tokens, estimated } = countTokens('a'.repeat(50_000));
  assert.equal(estimated, true);
  assert.equal(tokens, 50_000 / 8);
});

test('125 KB without a break are estimated from a few slices', () => {
  const counted = countTokens('a'.repeat(125_000));
  assert.deepEqual(counted, { tokens: 125_000 / 8, tokenizer: 'o200k_base', estimated: true });
});

test('a run without a break says nothing about the words behind it', () => {
  const words = 'one two three '.repeat(2_000);
  const { tokens, estimated } = countTokens(`${'a'.repeat(8_000)} ${words}`);
  assert.equal(estimated, true);
  assert.equal(tokens, 8_000 / 8 + reference(` ${words}`, plain));
});

test('the documents of this repository are counted exactly', () => {
  for (const name of ['README.md', 'ARCHITECTURE.md', 'package-lock.json', 'src/text/token-count.ts']) {
    const text = readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');
    assert.deepEqual(countTokens(text), {
      tokens: reference(text, plain),
      tokenizer: 'o200k_base',
      estimated: false,
    });
  }
});

test('beyond the limit a sample of the whole text is scaled up and called an estimate', () => {
  const half = Math.ceil(TOKEN_COUNT_CHARS / 2);
  const text = 'word '.repeat(Math.ceil(half / 5)) + '9 '.repeat(half) + 'word '.repeat(Math.ceil(half / 5));
  const { tokens, estimated } = countTokens(text);
  // `word ` is one token of five characters, `9 ` two of two.
  const exact = Math.ceil(half / 5) * 2 + half * 2;
  assert.equal(estimated, true);
  assert.ok(Math.abs(tokens / exact - 1) < 0.02, `${tokens} for ${exact}`);
});
