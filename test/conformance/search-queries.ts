import type { SearchIndex } from '../../src/kernel/search-index.ts';
import { ok, refuses, same } from './assert.ts';
import type { Case } from './case.ts';
import { longestKey, ODD_NAMES, range } from './keys.ts';

/** Typical search queries, and queries that have broken parsers. */
const UNTRUSTED = [
  '',
  ' ',
  '"',
  '""',
  '"open',
  "'; DROP TABLE x; --",
  '*',
  '**',
  'a*b',
  '(',
  ')(',
  'NEAR(a b)',
  'NEAR(',
  'AND',
  'OR OR',
  'NOT',
  'a AND',
  'AND b',
  'a NOT b',
  'text:word',
  'no_column:word',
  '{a b}:c',
  '^word',
  'a + b',
  '-a',
  '--',
  '%',
  '_',
  '\\',
  '\u0000',
  'a\u0000b',
  '\u0002x\u0003',
  '\ud800',
  'word\udc00',
  '🙂',
  '\u200b',
  '\n\t',
  '，。',
  '[a-z]+',
  '(a+)+$',
  'a'.repeat(5000),
  '" '.repeat(500),
];

export const searchQueryCases: readonly Case[] = [
  {
    name: 'search: no query throws, whatever it contains',
    async run({ index }) {
      await index.put('srx.query/1', 'a plain text with a word', {});
      for (const query of UNTRUSTED) {
        const hits = await index.search('srx.query/', query).catch((error) => {
          throw new Error(`the query ${JSON.stringify(query.slice(0, 40))} threw: ${error}`, {
            cause: error,
          });
        });
        ok(Array.isArray(hits), 'an answer');
        if (!/[\p{L}\p{N}]/u.test(query)) same(hits, [], `no word in ${JSON.stringify(query)}`);
      }
      for (const query of ['"word"', 'word*', '(word)', 'text: word', '+plain -word']) {
        same(await keys(index, 'srx.query/', query), ['srx.query/1'], query);
      }
    },
  },
  {
    name: 'search: a query of many words is answered, and one of very many is answered or rejected',
    async run({ index }) {
      const words = range(500).map((i) => `w${i}x`);
      await index.put('srx.long/1', words.join(' '), {});
      same(await keys(index, 'srx.long/', words.slice(0, 30).join(' ')), ['srx.long/1']);
      same(await keys(index, 'srx.long/', `${words.slice(0, 30).join(' ')} absent`), ['srx.long/1']);
      const searching = keys(index, 'srx.long/', words.join(' '));
      await searching.then(
        (hits) => same(hits, ['srx.long/1']),
        () => refuses(searching, 'bad_request'),
      );
    },
  },
  {
    name: 'search: keywords of the FTS5 query language are treated as words',
    async run({ index }) {
      await fill(index, 'srx.words/', { 1: 'this and that', 2: 'this or not near' });
      const first = async (query: string) => (await index.search('srx.words/', query))[0]?.key;
      same(await first('this AND that'), 'srx.words/1');
      same(await keys(index, 'srx.words/', 'NOT'), ['srx.words/2']);
      same(await first('this OR near'), 'srx.words/2');
    },
  },
  {
    name: 'search: texts in scripts without spaces can be searched',
    async run({ index }) {
      await fill(index, 'srx.cjk/', {
        1: '東京タワーはとても高い塔です。',
        2: '我们把指针交给下一个代理。',
        3: 'plain english',
      });
      same(await keys(index, 'srx.cjk/', '東京'), ['srx.cjk/1'], 'at the beginning');
      same(await keys(index, 'srx.cjk/', 'タワー'), ['srx.cjk/1'], 'in the middle');
      same(await keys(index, 'srx.cjk/', '指针'), ['srx.cjk/2']);
      same(await keys(index, 'srx.cjk/', '火山'), []);
    },
  },
  {
    name: 'search: any text can be indexed, even an empty, huge or ill-formed one',
    async run({ index }) {
      await fill(index, 'srx.any/', {
        empty: '',
        nul: 'before \u0000 after',
        lone: 'broken \ud800 surrogate',
        emoji: '🙂🙃 smile',
        huge: `${'lorem ipsum '.repeat(50_000)} huge`,
        solid: `${'x'.repeat(200_000)} solid`,
      });
      for (const word of ['after', 'surrogate', 'smile', 'huge', 'solid']) {
        same((await keys(index, 'srx.any/', word)).length, 1, word);
      }
      await index.remove('srx.any/empty');
    },
  },
  {
    name: 'search: unusual keys stay distinct, and invalid keys are rejected',
    async run({ index }) {
      const all = [...ODD_NAMES.map((n) => `srx.odd/${n}`), longestKey('srx.odd/')];
      for (const [i, key] of all.entries()) await index.put(key, `shared own${i}x`, {});
      for (const [i, key] of all.entries()) same(await keys(index, 'srx.odd/', `own${i}x`), [key]);
      for (const key of all.slice(1)) await index.remove(key);
      same(await keys(index, 'srx.odd/', 'shared'), [all[0]]);
      await refuses(index.put('', 'x', {}), 'bad_request');
      await refuses(index.put('srx.odd/\ud800', 'x', {}), 'bad_request');
      await refuses(index.put(`${longestKey('srx.odd/')}x`, 'x', {}), 'too_large');
    },
  },
];

/** Indexes texts under their names within the scope. */
export async function fill(index: SearchIndex, scope: string, texts: Record<string, string>): Promise<void> {
  for (const [name, text] of Object.entries(texts)) await index.put(scope + name, text, { from: name });
}

/** Returns the unique keys that a query finds, sorted. */
export async function keys(index: SearchIndex, scope: string, query: string): Promise<string[]> {
  const hits = await index.search(scope, query, { limit: 1000 });
  return [...new Set(hits.map((hit) => hit.key))].sort();
}
