import { ok, refuses, same, sameText } from './assert.ts';
import type { Case } from './case.ts';
import { TRICKY_JSON } from './json-values.ts';
import { range } from './keys.ts';
import { fill, keys, searchQueryCases } from './search-queries.ts';

const finding: readonly Case[] = [
  {
    name: 'search: the text with most of the words is found, with key, score, line and fields',
    async run({ index }) {
      await fill(index, 'srx.all/', {
        1: 'the quick brown fox jumps over the lazy dog',
        2: 'the quick red fox sleeps',
        3: 'a lazy\nafternoon',
      });
      same(await keys(index, 'srx.all/', 'fox'), ['srx.all/1', 'srx.all/2']);
      same(
        await keys(index, 'srx.all/', 'fox brown'),
        ['srx.all/1'],
        'texts with both words come first, in any order',
      );
      same((await index.search('srx.all/', 'lazy fox'))[0]?.key, 'srx.all/1', 'both come before one');
      same(await keys(index, 'srx.all/', 'absent'), []);
      const [hit] = await index.search('srx.all/', 'afternoon');
      same([hit?.key, hit?.line, hit?.fields], ['srx.all/3', 1, { from: '3' }]);
      ok(Number.isFinite(hit?.score), 'a score is a number');
    },
  },
  {
    name: 'search: a question in other words finds the passage that answers it, anywhere in the text',
    async run({ index }) {
      const filler = 'Nothing of note was decided that day, and the day was long.\n'.repeat(200);
      await fill(index, 'srx.ask/', {
        1: `${filler}Entries of a failed job are retried after 30 seconds.\n${filler}`,
        2: filler,
        3: 'A day was decided by whoever had failed to note it.',
      });
      const [hit] = await index.search(
        'srx.ask/',
        'When is an entry of the failing job that was decided tried again?',
      );
      same(hit?.key, 'srx.ask/1');
      ok(hit?.snippet.includes('30 seconds'), hit?.snippet ?? 'nothing');
      ok(Math.abs((hit?.line ?? 0) - 197) < 6, `line ${hit?.line}`);
    },
  },
  {
    name: 'search: one text may have several hits, and their passages do not overlap',
    async run({ index }) {
      const filler = 'padding between the places\n'.repeat(100);
      const text = range(5).map((i) => `the needle number${i}\n${filler}`);
      await index.put('srx.several/1', text.join(''), {});
      const hits = await index.search('srx.several/', 'needle');
      same(hits.length, 5);
      same(new Set(hits.map((hit) => /number\d/.exec(hit.snippet)?.[0])).size, 5);
    },
  },
  {
    name: 'search: a long text is found by its beginning, even in a script without spaces',
    async run({ index }) {
      const begins = '契約の更新は来月までに行います。';
      await index.put('srx.long/1', (begins + '語'.repeat(1024 * 1024)).slice(0, 1024 * 1024), { from: '1' });
      same(await keys(index, 'srx.long/', '契約の更新'), ['srx.long/1']);
      await index.put('srx.long/1', 'something else', {});
      same(await keys(index, 'srx.long/', '契約の更新'), [], 'it is replaced');
    },
  },
  {
    name: 'search: case is ignored, and punctuation separates words',
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
    name: 'search: a word matches words that start with it and its other forms, but not the middle of a word',
    async run({ index }) {
      await fill(index, 'srx.prefix/', { 1: 'relational databases', 2: 'relay stations', 3: 'hexColor' });
      same(await keys(index, 'srx.prefix/', 'rel'), ['srx.prefix/1', 'srx.prefix/2']);
      same(await keys(index, 'srx.prefix/', 'stationed'), ['srx.prefix/2']);
      same(await keys(index, 'srx.prefix/', 'database'), ['srx.prefix/1']);
      same(await keys(index, 'srx.prefix/', 'elay'), [], 'matches the start of a word, not the middle');
      same(await keys(index, 'srx.prefix/', 're x'), [], 'short words match whole words, except the last');
    },
  },
  {
    name: 'search: a scope does not include its neighbours',
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
    name: 'search: put replaces a text, remove deletes it, and both accept unknown keys',
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
    name: 'search: concurrent puts of one key leave one version',
    async run({ index }) {
      await Promise.all(range(20).map((i) => index.put('srx.race/1', `shared word${i}`, { i })));
      const hits = await index.search('srx.race/', 'shared');
      same(hits.length, 1);
      same(await keys(index, 'srx.race/', `word${hits[0]?.fields.i}`), ['srx.race/1']);
    },
  },
  {
    name: 'search: the best hits come first, up to the limit',
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
    name: 'search: a snippet is plain text with marked matches',
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
    name: 'search: the snippet of a long text is the passage with the match and not the whole text',
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
    name: 'search: mark characters in the text itself are not treated as matches',
    async run({ index }) {
      await index.put('srx.marks/1', 'alpha \u0003 beta \u0002 gamma \u0002delta\u0003', {});
      const [hit] = await index.search('srx.marks/', 'beta');
      same(hit?.snippet.match(/[\u0002\u0003]/g), ['\u0002', '\u0003'], 'one pair, ours');
      ok(hit?.snippet.includes('\u0002beta\u0003'), 'around the match');
    },
  },
  {
    name: 'search: fields are returned exactly',
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

export const searchIndexCases: readonly Case[] = [...finding, ...showing, ...searchQueryCases];
