import type { SearchIndex } from '../../src/kernel/search-index.ts';
import { ok, refuses, same, sameText } from './assert.ts';
import type { Case } from './case.ts';
import { TRICKY_JSON } from './json-values.ts';
import { longestKey, ODD_NAMES, range } from './keys.ts';

/** What people and programs type into a search box, and what has upset a query parser. */
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
  'word '.repeat(200),
];

const finding: readonly Case[] = [
  {
    name: 'search: what holds all words is found, with key, score and fields',
    async run({ index }) {
      await fill(index, 'srx.all/', {
        1: 'the quick brown fox jumps over the lazy dog',
        2: 'the quick red fox sleeps',
        3: 'a lazy afternoon',
      });
      same(await keys(index, 'srx.all/', 'fox'), ['srx.all/1', 'srx.all/2']);
      same(await keys(index, 'srx.all/', 'fox brown'), ['srx.all/1'], 'in any order');
      same(await keys(index, 'srx.all/', 'lazy fox'), ['srx.all/1']);
      same(await keys(index, 'srx.all/', 'red lazy'), [], 'not both in one');
      same(await keys(index, 'srx.all/', 'absent'), []);
      const [hit] = await index.search('srx.all/', 'afternoon');
      same([hit?.key, hit?.fields], ['srx.all/3', { from: '3' }]);
      ok(Number.isFinite(hit?.score), 'a score is a number');
    },
  },
  {
    name: 'search: letters of either case find each other, and punctuation parts words',
    async run({ index }) {
      await fill(index, 'srx.case/', {
        1: 'ContextRelay: pull(url), then "DECIDE"; Ünïcode straße, end-to-end.',
      });
      for (const query of [
        'contextrelay',
        'CONTEXTRELAY',
        'decide pull',
        'URL',
        'ünïcode',
        'end-to-end',
        'then, url',
      ]) {
        same(await keys(index, 'srx.case/', query), ['srx.case/1'], query);
      }
    },
  },
  {
    name: 'search: the last word may be a prefix, the others not',
    async run({ index }) {
      await fill(index, 'srx.prefix/', { 1: 'relational databases', 2: 'relay stations' });
      same(await keys(index, 'srx.prefix/', 'rel'), ['srx.prefix/1', 'srx.prefix/2']);
      same(await keys(index, 'srx.prefix/', 'relay stat'), ['srx.prefix/2']);
      same(await keys(index, 'srx.prefix/', 'stat relay'), [], 'stat is not a word of it');
      same(await keys(index, 'srx.prefix/', 'elay'), [], 'a prefix, not a part');
    },
  },
  {
    name: 'search: a scope does not reach its neighbours',
    async run({ index }) {
      const scopes = [
        'srx.s/',
        'srx.s%/',
        'srx.s_/',
        'srx.sa/',
        'srx.S/',
        'srx.s*/',
        'srx.s"/',
        "srx.s'/",
        'srx.s\uffff/',
      ];
      for (const scope of scopes) {
        await index.put(`${scope}x`, 'needle', {});
        await index.put(`${scope}x/deep`, 'needle', {});
        await index.put(`${scope}y_/deep`, 'needle', {});
        await index.put(`${scope}yz/deep`, 'needle', {});
      }
      for (const scope of scopes) {
        same((await keys(index, scope, 'needle')).length, 4, scope);
        same(await keys(index, `${scope}x/`, 'needle'), [`${scope}x/deep`]);
        same(await keys(index, `${scope}y_/`, 'needle'), [`${scope}y_/deep`]);
        same(await keys(index, `${scope}none/`, 'needle'), []);
      }
      await refuses(index.search('', 'needle'), 'bad_request');
      await refuses(index.search('srx.s', 'needle'), 'bad_request');
    },
  },
  {
    name: 'search: a put replaces, a remove takes away, and neither minds what was not there',
    async run({ index }) {
      await index.put('srx.put/1', 'first version', { v: 1 });
      await index.put('srx.put/1', 'second edition', { v: 2 });
      same(await keys(index, 'srx.put/', 'first'), []);
      same(
        (await index.search('srx.put/', 'edition')).map((h) => h.fields),
        [{ v: 2 }],
      );
      await index.remove('srx.put/1');
      await index.remove('srx.put/1');
      await index.remove('srx.put/never');
      same(await keys(index, 'srx.put/', 'edition'), []);
      await index.put('srx.put/1', 'third', {});
      same(await keys(index, 'srx.put/', 'third'), ['srx.put/1']);
    },
  },
  {
    name: 'search: puts of one key at once leave one version',
    async run({ index }) {
      await Promise.all(range(20).map((i) => index.put('srx.race/1', `shared word${i}`, { i })));
      const hits = await index.search('srx.race/', 'shared');
      same(hits.length, 1);
      same(await keys(index, 'srx.race/', `word${hits[0]?.fields.i}`), ['srx.race/1']);
    },
  },
  {
    name: 'search: the best come first, and no more than asked for',
    async run({ index }) {
      const filler = 'some words that have nothing to do with it at all '.repeat(20);
      for (const i of range(12)) await index.put(`srx.limit/${i}`, `needle ${i} ${filler}`, {});
      await index.put('srx.limit/best', 'needle needle needle', {});
      const hits = await index.search('srx.limit/', 'needle', { limit: 5 });
      same(hits.length, 5);
      same(hits[0]?.key, 'srx.limit/best');
      for (const [i, hit] of hits.entries()) ok(i === 0 || hit.score <= hits[i - 1]!.score, 'scores descend');
      same((await index.search('srx.limit/', 'needle', { limit: 100 })).length, 13);
      same(
        (await index.search('srx.limit/', 'needle', { limit: 1 })).map((h) => h.key),
        ['srx.limit/best'],
      );
      for (const limit of [0, -1, 1001, 0.5]) {
        await refuses(index.search('srx.limit/', 'needle', { limit }), 'bad_request');
      }
    },
  },
];

const showing: readonly Case[] = [
  {
    name: 'search: a snippet is plain text with the matches marked',
    async run({ index }) {
      await index.put('srx.snip/1', 'Take the <b>pointer</b> & pull it.', {});
      const [hit] = await index.search('srx.snip/', 'pointer pul');
      ok(hit, 'it is found');
      ok(hit.snippet.includes('\u0002pointer\u0003'), `a whole word: ${hit.snippet}`);
      ok(/\u0002pull\u0003/.test(hit.snippet), `a word found by its prefix: ${hit.snippet}`);
      ok(hit.snippet.replace(/[\u0002\u0003]/g, '').includes('<b>pointer</b> & pull'), 'nothing is escaped');
    },
  },
  {
    name: 'search: a snippet of a long text is the passage with the match, not all of it',
    async run({ index }) {
      const filler = 'padding around the point '.repeat(4000);
      await index.put('srx.long/1', `${filler} the needle is here ${filler}`, {});
      const [hit] = await index.search('srx.long/', 'needle');
      ok(hit, 'it is found');
      ok(hit.snippet.includes('\u0002needle\u0003'), 'the passage with the match');
      ok(hit.snippet.length < 2000, `${hit.snippet.length} characters`);
    },
  },
  {
    name: 'search: marks that the text brings along are not taken for matches',
    async run({ index }) {
      await index.put('srx.marks/1', 'alpha \u0003 beta \u0002 gamma \u0002delta\u0003', {});
      const [hit] = await index.search('srx.marks/', 'beta');
      same(hit?.snippet.match(/[\u0002\u0003]/g), ['\u0002', '\u0003'], 'one pair, ours');
      ok(hit?.snippet.includes('\u0002beta\u0003'), 'around the match');
    },
  },
  {
    name: 'search: fields come back exactly',
    async run({ index }) {
      for (const [i, value] of TRICKY_JSON.entries()) {
        await index.put(`srx.fields/${i}`, `entry number${i}x`, { value });
      }
      for (const [i, value] of TRICKY_JSON.entries()) {
        const [hit] = await index.search('srx.fields/', `number${i}x`);
        sameText(hit?.fields, { value }, `value ${i}`);
      }
    },
  },
];

const bearing: readonly Case[] = [
  {
    name: 'search: no query throws, whatever is in it',
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
    name: 'search: words of the query language are words',
    async run({ index }) {
      await fill(index, 'srx.words/', { 1: 'this and that', 2: 'this or not near' });
      same(await keys(index, 'srx.words/', 'this AND that'), ['srx.words/1']);
      same(await keys(index, 'srx.words/', 'NOT'), ['srx.words/2']);
      same(await keys(index, 'srx.words/', 'this OR near'), ['srx.words/2']);
    },
  },
  {
    name: 'search: texts without spaces between words can be searched',
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
    name: 'search: any text can be put, also empty, huge or ill-formed',
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
    name: 'search: odd keys are told apart, and bad ones refused',
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

export const searchIndexCases: readonly Case[] = [...finding, ...showing, ...bearing];

async function fill(index: SearchIndex, scope: string, texts: Record<string, string>): Promise<void> {
  for (const [name, text] of Object.entries(texts)) await index.put(scope + name, text, { from: name });
}

async function keys(index: SearchIndex, scope: string, query: string): Promise<string[]> {
  return (await index.search(scope, query, { limit: 1000 })).map((hit) => hit.key).sort();
}
