import type { Logs } from '../../src/kernel/logs.ts';
import { ok, refuses, same, sameText } from './assert.ts';
import type { Case } from './case.ts';
import { jsonOfBytes, TRICKY_JSON } from './json-values.ts';
import { longestKey, ODD_NAMES, range } from './keys.ts';
import { logTrimmingCases } from './log-trimming.ts';
import { appendAll, ascending, readAll } from './streams.ts';
import { subscriptionCases } from './subscriptions.ts';

const reading: readonly Case[] = [
  {
    name: 'logs: a page has the requested number of entries, however large they are',
    async run({ logs, limits }) {
      const text = 'x'.repeat(Math.min(240_000, limits.entryBytes - 100));
      const count = Math.ceil(11_000_000 / text.length);
      for (let i = 0; i < count; i++) await logs.append('log.large', { i, text });
      const { entries } = await logs.read('log.large', { limit: count + 10 });
      same(
        entries.map(({ data }) => (data as { i: number }).i),
        range(count),
      );
      same((await logs.read('log.large', { limit: count - 1 })).entries.length, count - 1);
    },
  },
  {
    name: 'logs: a page with maxBytes ends early, and the next page continues there',
    async run({ logs, limits }) {
      const text = 'x'.repeat(Math.min(200_000, limits.entryBytes - 100));
      const count = Math.ceil(6_000_000 / text.length);
      for (let i = 0; i < count; i++) await logs.append('log.bounded', { i, text });
      const readValues: number[] = [];
      let pages = 0;
      for (let after = 0; ; pages++) {
        const { entries } = await logs.read('log.bounded', { after, maxBytes: 500_000 });
        if (entries.length === 0) break;
        ok(entries.length * text.length <= 5_000_000, `${entries.length} entries in one page`);
        readValues.push(...entries.map(({ data }) => (data as { i: number }).i));
        after = entries.at(-1)!.seq;
      }
      same(readValues, range(count));
      ok(pages >= 2, `${pages} pages`);
      same((await logs.read('log.bounded', { maxBytes: 1 })).entries.length > 0, true);
    },
  },
  {
    name: 'logs: entries are read oldest first, with sequence number and time',
    async run({ logs }, clock) {
      same(await logs.read('log.a'), { entries: [] });
      const start = clock.now();
      const sequences: number[] = [];
      for (const i of range(5)) {
        sequences.push((await logs.append('log.a', { i }))!);
        clock.advance(1000);
      }
      ok(sequences[0]! >= 1 && sequences.every(Number.isSafeInteger), 'whole numbers from 1');
      ascending(sequences.map((seq) => ({ seq })));
      same(await logs.read('log.a'), {
        entries: sequences.map((seq, i) => ({ seq, at: start + i * 1000, data: { i } })),
      });
    },
  },
  {
    name: 'logs: every JSON value is returned exactly',
    async run({ logs }) {
      await appendAll(logs, 'log.json', TRICKY_JSON);
      const { entries } = await logs.read('log.json');
      for (const [i, value] of TRICKY_JSON.entries()) sameText(entries[i]?.data, value, `value ${i}`);
    },
  },
  {
    name: 'logs: append copies the data, so later changes of the value do not matter',
    async run({ logs }) {
      const data = { list: [1] };
      const writing = logs.append('log.copy', data);
      data.list.push(2);
      await writing;
      same((await logs.read('log.copy')).entries[0]?.data, { list: [1] });
    },
  },
  {
    name: 'logs: a read continues after a sequence number, with a limit',
    async run({ logs }) {
      const sequences = await appendAll(logs, 'log.page', range(25));
      for (const limit of [1, 7, 25, 26]) {
        const readValues: unknown[] = [];
        let after = 0;
        for (;;) {
          const { entries, gap } = await logs.read('log.page', { after, limit });
          same(gap, undefined);
          ok(entries.length <= limit, 'no more than asked for');
          if (entries.length === 0) break;
          readValues.push(...entries.map((e) => e.data));
          after = entries.at(-1)!.seq;
        }
        same(readValues, range(25), `${limit} at a time`);
      }
      same((await logs.read('log.page', { after: sequences[9]! })).entries[0]?.data, 10);
      same((await logs.read('log.page', { after: sequences[9]! - 1 })).entries[0]?.data, 9);
      same(await logs.read('log.page', { after: sequences[24]! }), { entries: [] });
      same(await logs.read('log.page', { after: sequences[24]! + 1000 }), { entries: [] });
    },
  },
  {
    name: 'logs: a read returns 100 entries by default and at most 1000',
    async run({ logs }) {
      await Promise.all(range(101).map((i) => logs.append('log.many', i)));
      same((await logs.read('log.many')).entries.length, 100);
      same((await logs.read('log.many', { limit: 1000 })).entries.length, 101);
      for (const limit of [0, -1, 1001, 1.5]) await refuses(logs.read('log.many', { limit }), 'bad_request');
    },
  },
  {
    name: 'logs: info returns first, last and count, and zeros for a missing stream',
    async run({ logs }) {
      same(await logs.info('log.info'), { first: 0, last: 0, count: 0 });
      const sequences = await appendAll(logs, 'log.info', range(4));
      same(await logs.info('log.info'), { first: sequences[0], last: sequences[3], count: 4 });
    },
  },
  {
    name: 'logs: streams with unusual or similar names do not mix',
    async run({ logs }) {
      const names = [...ODD_NAMES, 'log', 'log.', 'log.x', 'log.x.y', 'log.x%', 'LOG.X', longestKey('log.')];
      for (const [i, name] of names.entries()) await appendAll(logs, name, [i, `${i}`]);
      for (const [i, name] of names.entries()) {
        same(
          (await logs.read(name)).entries.map((e) => e.data),
          [i, `${i}`],
          name,
        );
      }
      await logs.drop('log.x');
      await logs.trim('log.x%', { before: Number.MAX_SAFE_INTEGER });
      for (const [i, name] of names.entries()) {
        const count = name === 'log.x' ? 0 : name === 'log.x%' ? 1 : 2;
        same((await logs.info(name)).count, count, `entries of ${name}, number ${i}`);
      }
    },
  },
  {
    name: 'logs: an empty, ill-formed or too long name or id is rejected',
    async run({ logs }) {
      for (const call of streamCalls(logs)) {
        await refuses(call(''), 'bad_request');
        await refuses(call('log.bad\ud800'), 'bad_request');
        await refuses(call('log.bad\0'), 'bad_request');
        await refuses(call(`${longestKey('log.bad')}x`), 'too_large');
      }
      await refuses(logs.append('log.bad', 1, { id: '' }), 'bad_request');
      await refuses(logs.append('log.bad', 1, { id: '\udfff' }), 'bad_request');
      await refuses(logs.append('log.bad', 1, { id: `${longestKey('')}x` }), 'too_large');
      same(await logs.info('log.bad'), { first: 0, last: 0, count: 0 });
    },
  },
  {
    name: 'logs: an entry at the size limit is stored, and one byte more is rejected',
    async run({ logs, limits }) {
      const full = jsonOfBytes(limits.entryBytes);
      await appendAll(logs, 'log.big', [full]);
      await refuses(logs.append('log.big', jsonOfBytes(limits.entryBytes + 1)), 'too_large');
      await refuses(logs.append('log.big', jsonOfBytes(limits.entryBytes + 1), { id: 'one' }), 'too_large');
      const second = await logs.append('log.big', 'small', { id: 'one' });
      const { entries } = await logs.read('log.big');
      same(
        entries.map((e) => e.data),
        [full, 'small'],
      );
      same(entries[1]?.seq, second, 'the refused one did not use up its id');
    },
  },
];

const racing: readonly Case[] = [
  {
    name: 'logs: concurrent appends are all stored, each with its own sequence number',
    async run({ logs }) {
      const seqs = await Promise.all(range(100).map((i) => logs.append('log.race', i)));
      const entries = await readAll(logs, 'log.race');
      ascending(entries);
      same(entries.length, 100);
      for (const { seq, data } of entries) same(seqs[data as number], seq);
    },
  },
  {
    name: 'logs: of many appends with the same expectSeq, one wins',
    async run({ logs }) {
      let last = 0;
      for (let round = 0; round < 5; round++) {
        const seqs = await Promise.all(
          range(25).map((i) => logs.append('log.expect', { round, i }, { expectSeq: last })),
        );
        const winners = range(25).filter((i) => seqs[i] !== null);
        same(winners.length, 1, 'winners');
        const seq = seqs[winners[0]!]!;
        ok(seq > last, 'sequences grow');
        same(
          (await logs.read('log.expect', { after: last })).entries.map((e) => [e.seq, e.data]),
          [[seq, { round, i: winners[0] }]],
        );
        last = seq;
      }
      same((await logs.info('log.expect')).count, 5);
    },
  },
  {
    name: 'logs: an append with a wrong expectSeq changes nothing',
    async run({ logs }) {
      same(await logs.append('log.wrong', 1, { expectSeq: 1 }), null, 'the stream is empty');
      const first = (await logs.append('log.wrong', 1, { expectSeq: 0 }))!;
      same(await logs.append('log.wrong', 2, { expectSeq: 0 }), null);
      same(await logs.append('log.wrong', 2, { expectSeq: first + 1 }), null);
      same(await logs.append('log.wrong', 2, { expectSeq: first - 1, id: 'a' }), null);
      same((await logs.info('log.wrong')).count, 1);
      const second = await logs.append('log.wrong', 2, { expectSeq: first, id: 'a' });
      ok(second !== null && second > first, 'the one that lost did not use up its id');
    },
  },
  {
    name: 'logs: a repeated id returns the first sequence number and appends nothing, whatever the other options are',
    async run({ logs }) {
      const first = await logs.append('log.id', 'first', { id: 'a', expectSeq: 0 });
      const other = await logs.append('log.id', 'other', { id: 'b' });
      ok(first !== null && other !== null && other > first, 'two ids, two entries');
      for (const o of [
        {},
        { expectSeq: 0 },
        { expectSeq: first },
        { expectSeq: other },
        { expectSeq: 9_999_999 },
      ]) {
        same(await logs.append('log.id', 'again', { id: 'a', ...o }), first, JSON.stringify(o));
      }
      same(
        (await logs.read('log.id')).entries.map((e) => e.data),
        ['first', 'other'],
      );
      ok((await logs.append('log.id/other', 'x', { id: 'a' })) !== null, 'an id belongs to its stream');
      same((await logs.info('log.id/other')).count, 1);
      for (const [i, id] of ODD_NAMES.entries()) await logs.append('log.id/odd', i, { id });
      same((await logs.info('log.id/odd')).count, ODD_NAMES.length);
    },
  },
  {
    name: 'logs: of many concurrent appends with the same id, one is stored and all get its sequence number',
    async run({ logs }) {
      const seqs = await Promise.all(
        range(30).map((i) =>
          logs.append('log.ids', i, { id: `same ${i % 3}`, expectSeq: i < 15 ? undefined : 7 }),
        ),
      );
      const { entries } = await logs.read('log.ids');
      same(entries.length, 3);
      for (const kind of range(3)) {
        const sequences = new Set(
          range(30)
            .filter((i) => i < 15 && i % 3 === kind)
            .map((i) => seqs[i]),
        );
        same(sequences.size, 1, 'one sequence for all');
        ok(
          entries.some((e) => sequences.has(e.seq)),
          'and it is that of the entry',
        );
      }
    },
  },
  {
    name: 'logs: writers that read, fold, and append with expectSeq until they win lose nothing',
    async run({ logs }) {
      await Promise.all(
        range(10).map(async () => {
          for (;;) {
            const last = (await readAll(logs, 'log.fold')).at(-1);
            const next = ((last?.data as number | undefined) ?? 0) + 1;
            if ((await logs.append('log.fold', next, { expectSeq: last?.seq ?? 0 })) !== null) return;
          }
        }),
      );
      same(
        (await readAll(logs, 'log.fold')).map((e) => e.data),
        range(10).map((i) => i + 1),
      );
    },
  },
];

export const logCases: readonly Case[] = [...reading, ...racing, ...logTrimmingCases, ...subscriptionCases];

function streamCalls(logs: Logs): ((stream: string) => Promise<unknown>)[] {
  return [
    (stream) => logs.append(stream, 1),
    (stream) => logs.read(stream),
    (stream) => logs.info(stream),
    (stream) => logs.trim(stream, { before: 1 }),
    (stream) => logs.drop(stream),
    async (stream) => {
      const signal = new AbortController().signal;
      return logs.subscribe(stream, { signal })[Symbol.asyncIterator]().next();
    },
  ];
}
