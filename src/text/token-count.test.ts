import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import RANKS from 'gpt-tokenizer/bpeRanks/o200k_base';
import { countTokens as reference } from '../../test/token-count.ts';
import { TOKEN_COUNT_CHARS, TOKEN_SLICE_CHARS } from '../base/limits.ts';
import { tokenCounter } from './token-count.ts';
import { isWholeTable, makeTokenTable, openTokenTable, packTokens, unpackTokens } from './token-table.ts';

const table = makeTokenTable(RANKS);
const countTokens = tokenCounter(openTokenTable(table));

/** Seeded random numbers, so that every run has the same texts. */
function chance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return state / 2 ** 32;
  };
}

test('a count names its tokenizer and says that it is exact', () => {
  assert.deepEqual(countTokens('hello world'), { tokens: 2, tokenizer: 'o200k_base', estimated: false });
  assert.deepEqual(countTokens(''), { tokens: 0, tokenizer: 'o200k_base', estimated: false });
});

test('packing and unpacking a table changes nothing, and a cut or blank table is detected', () => {
  assert.deepEqual(makeTokenTable(unpackTokens(packTokens(RANKS))), table);
  assert.ok(isWholeTable(table));
  for (const cut of [0, 3, 8, 4096, table.length - 1])
    assert.ok(!isWholeTable(table.slice(0, cut)), String(cut));
  assert.ok(!isWholeTable(new Uint8Array(table.length)));
});

test('texts in every script are counted like the published tokenizer does', () => {
  for (const text of [
    "The project has a new decision: store each message in one table, and don’t add an index. We'll SEE.",
    'Die Übertragungsgeschwindigkeit der Datenbankverbindung muss vor der Auslieferung gemessen werden.',
    '用户登录模块需要重构，并在发布之前完成所有测试。データベースの接続を確認する。사용자 로그인',
    'يجب إعادة كتابة وحدة تسجيل الدخول قبل الإصدار القادم، وإضافة الاختبارات.',
    'Необходимо переписать модуль авторизации; हमें परीक्षण लिखने हैं; ทดสอบก่อนเผยแพร่; בדיקות',
    "export function readTodos(doc: JsonDocument): Todo[] { return doc.find(['todos'])?.entries ?? []; }",
    'https://relay.example/pull/0b51a2ee-7d9e-4c0f-9f8a-2d1f3c4b5a69 at 2026-04-20T10:00:00+08:00 // <|endoftext|>',
    '\n\n---\n\t\t| a | b |\r\n  ...!!??\ud800   \n   👩‍👩‍👧🏽',
  ]) {
    assert.deepEqual(countTokens(text), reference(text), text);
  }
});

test('a text is split where the published tokenizer splits it', () => {
  const random = chance(7);
  const alphabet = [
    ..."ab AB  \n\r\t'sSlLtTdDvVeE.,;/!=-#_\x0a9९٣漢字かナ한국أبतेकाทÉéÿßДдǅʰ́̃👍👩‍👩‍👧𐐀𐐨🏽\u00a0\u3000中。、…ẞ\u{e0101}\ud800",
    ...["'s", '\r\n', ' the', 'Relay', "don't", '():', '    ', 'straße', '東京', 'привет'],
  ];
  for (let round = 0; round < 5_000; round++) {
    let text = '';
    for (let i = random() * 25; i > 0; i--) text += alphabet[Math.floor(random() * alphabet.length)];
    assert.deepEqual(countTokens(text), reference(text), JSON.stringify(text));
  }
});

test('a long run without a break is counted like other text', () => {
  const random = chance(3);
  let letters = '';
  let ideographs = '';
  for (let i = 0; i < 1500; i++) letters += 'abcdefghij'[Math.floor(random() * 10)];
  for (let i = 0; i < 500; i++) ideographs += String.fromCharCode(0x4e00 + Math.floor(random() * 3000));
  for (const text of [letters, ideographs, 'a'.repeat(1500), ' '.repeat(1500), '='.repeat(1500)])
    assert.deepEqual(countTokens(text), reference(text));
});

test('a long text is counted exactly', () => {
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
  assert.deepEqual(countTokens(text), reference(text));
});

test('a count with a cut piece is marked as an estimate', () => {
  const filler = 'a'.repeat(TOKEN_SLICE_CHARS);
  const [capitals, blanks] = ['A'.repeat(TOKEN_SLICE_CHARS - 2), ' '.repeat(TOKEN_SLICE_CHARS - 2)];
  for (const [text, estimated] of [
    [filler, false],
    [`${filler.slice(1)} b`, false],
    [`${filler}a`, true],
    // Here the end of the first piece depends on text beyond the slice.
    [`漢漢${capitals}漢`, true],
    [`\n\n${blanks}\n`, true],
    [`!${'\n'.repeat(TOKEN_SLICE_CHARS)}`, true],
    [`!${'/'.repeat(TOKEN_SLICE_CHARS)}`, true],
    ['👍'.repeat(TOKEN_SLICE_CHARS), true],
  ] as const) {
    assert.equal(countTokens(text).estimated, estimated, text.slice(0, 5));
  }
});

test('a long piece without a break is cut, and the text after it is counted exactly', () => {
  assert.deepEqual(countTokens('a'.repeat(125_000)), {
    tokens: 125_000 / 8,
    tokenizer: 'o200k_base',
    estimated: true,
  });
  const repeated = 'one two three '.repeat(2_000);
  const { tokens } = countTokens(`${'a'.repeat(80_000)} ${repeated}`);
  assert.equal(tokens, 80_000 / 8 + reference(` ${repeated}`).tokens);
});

test('the documents of this repository are counted exactly', () => {
  for (const name of ['README.md', 'ARCHITECTURE.md', 'package-lock.json', 'src/text/token-count.ts']) {
    const text = readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');
    assert.deepEqual(countTokens(text), reference(text));
  }
});

test('above the limit, a sample of the text is scaled up and marked as an estimate', () => {
  const half = Math.ceil(TOKEN_COUNT_CHARS / 2);
  const text = 'word '.repeat(Math.ceil(half / 5)) + '9 '.repeat(half) + 'word '.repeat(Math.ceil(half / 5));
  const { tokens, estimated } = countTokens(text);
  // The five characters of `word ` are one token. The two characters of `9 ` are two tokens.
  const exact = Math.ceil(half / 5) * 2 + half * 2;
  assert.equal(estimated, true);
  assert.ok(Math.abs(tokens / exact - 1) < 0.02, `${tokens} for ${exact}`);
});
