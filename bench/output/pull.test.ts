import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Excerpt } from '../../src/text/excerpt/excerpt.ts';
import { choosePull } from './pull.ts';

const excerptOf = (text: string): Excerpt => ({
  text,
  kind: 'log',
  lines: 900,
  bytes: 9000,
  tokens: 20_000,
  shownTokens: 10,
  whole: false,
  omitted: [
    { from: 3, to: 400 },
    { from: 500, to: 898 },
  ],
});
const grep = (question: string, text = '1 started') => {
  const pull = choosePull(question, excerptOf(text));
  return 'grep' in pull ? pull.grep : pull;
};

test('names in the question are searched for, and nothing else', () => {
  assert.equal(grep('What is the value of SHOP_SETTING_137?'), 'SHOP_SETTING_137');
  assert.equal(grep('In which line of lib.rs did it panic?'), 'lib\\.rs');
});

test('words that are common in the excerpt are not searched for', () => {
  assert.equal(grep('Which secret is missing?'), 'secret|miss');
  assert.equal(grep('Which secret is missing?', '9 secret\n'.repeat(6)), 'miss');
  assert.equal(grep('Which tests were skipped?', '9 test\n'.repeat(6)), 'skip');
});

test('questions in Chinese and Japanese have words', () => {
  assert.match(String(grep('哪个订单出库失败？')), /订单/);
});

test('a question without words pulls omitted lines', () => {
  assert.deepEqual(grep('What is the last?'), { lines: '779-898' });
  assert.deepEqual(grep('What is first?'), { lines: '3-122' });
});
