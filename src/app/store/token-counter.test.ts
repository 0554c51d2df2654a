import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ownTokenCounter, ThreadTokenCounter } from './token-counter.ts';

test('the thread counts what this process would count', async () => {
  await using counter = new ThreadTokenCounter();
  const texts = ['hello, agent', 'naïve café ☕', 'a'.repeat(5000), ''];
  const [there, here] = await Promise.all([
    Promise.all(texts.map((text) => counter.count(text))),
    Promise.all(texts.map((text) => ownTokenCounter.count(text))),
  ]);
  assert.deepEqual(there, here);
  assert.deepEqual(here[0], { tokens: 3, tokenizer: 'o200k_base', estimated: false });
});

test('a counter can be closed at any time, and counts again when asked', async () => {
  const counter = new ThreadTokenCounter();
  await counter[Symbol.asyncDispose]();
  assert.equal((await counter.count('hello')).tokens, 1);
  await counter[Symbol.asyncDispose]();
  await counter[Symbol.asyncDispose]();
});
