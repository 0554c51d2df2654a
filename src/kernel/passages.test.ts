import assert from 'node:assert/strict';
import { test } from 'node:test';
import { queryTerms, rankPassages } from './passages.ts';

const terms = (query: string) => queryTerms(query).map(({ text }) => text);

function search(texts: readonly string[], query: string, limit = 10) {
  const candidates = texts.map((text, i) => ({ key: `k/${i}`, text, fields: {} }));
  return rankPassages(candidates, queryTerms(query), limit);
}

test('query terms have no case, diacritics, endings or duplicates', () => {
  assert.deepEqual(terms('Entries FAILED retrying the Größe'), ['entr', 'fail', 'retry', 'groß']);
  assert.deepEqual(terms('wait, waits and waited'), ['wait']);
  assert.equal(terms(Array.from({ length: 5000 }, (_, i) => `w${i}x`).join(' ')).length, 64);
});

test('stop words are used only if the query has no other words', () => {
  assert.deepEqual(terms('How long does the lease of a worker last?'), ['long', 'leas', 'worker', 'last']);
  assert.deepEqual(terms('to be or not'), ['to', 'be', 'or', 'not']);
});

test('text without spaces is split into pairs of letters, so a question matches a text that shares some', () => {
  assert.deepEqual(terms('東京の塔'), ['東京', '京の', 'の塔']);
  assert.equal(search(['富士山は高い。', '東京には塔がある。'], '東京の塔はどこ')[0]?.key, 'k/1');
});

test('a short last word is a prefix while it is typed, and a whole word at the end of a sentence', () => {
  const texts = ['machine 42', 'machine 421', 'machine 4'];
  assert.equal(search(texts, 'machine 4').length, 3);
  assert.equal(search(texts, 'Where is machine 4?')[0]!.key, 'k/2');
});

test('a rare word weighs more than common words', () => {
  const common = 'the state of the thread has a version\n'.repeat(50);
  const [best] = search(
    [`${common}the walrus of it\n${common}`, common],
    'which state of the thread has a walrus',
  );
  assert.match(best!.snippet, /walrus/);
});

test('a passage has a limited length and shows the text around the match, even in a very long line', () => {
  const sentence = 'Some words that have nothing to do with it at all. ';
  const line = `${sentence.repeat(100)}The needle is in here. ${sentence.repeat(100)}`;
  const [best] = search([line], 'needle');
  assert.ok(best!.snippet.length <= 490, `${best!.snippet.length} characters`);
  assert.match(best!.snippet, /^…Some.*at all\. The \u0002needle\u0003 is in here\. Some.*…$/s);
  const [solid] = search([`${'x'.repeat(100_000)} needle ${'y'.repeat(100_000)}`], 'needle');
  assert.ok(solid!.snippet.length <= 490);
});

test('the parts of a camel-case name match as words', () => {
  const rows = ['{"name":"Iron","boilingPoint":3134}', '{"name":"Zinc","boilingPoint":1180}'];
  assert.match(search(rows, 'the point at which zinc boils')[0]!.snippet, /1180/);
});

test('a hit has the line number of its passage', () => {
  const text = Array.from(
    { length: 1000 },
    (_, i) => `line ${i + 1}${i === 899 ? ' has the needle' : ''}`,
  ).join('\n');
  const [hit] = search([text], 'needle');
  assert.ok(hit!.line <= 900 && hit!.line > 800, `line ${hit!.line}`);
});
