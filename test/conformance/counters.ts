import { ok, refuses, same } from './assert.ts';
import type { Case } from './case.ts';

export const counterCases: readonly Case[] = [
  {
    name: 'counters: an absent counter starts at 0, and its value is a record',
    async run({ records }) {
      same(await records.add('cnt.a/1', 5), 5);
      same(await records.add('cnt.a/1', 2), 7);
      const first = await records.get('cnt.a/1');
      same(first?.value, 7);
      await records.add('cnt.a/1', 1);
      const second = await records.get('cnt.a/1');
      same(second?.value, 8);
      ok(second!.revision > first!.revision, 'an add is a write');
      same(
        (await records.list('cnt.a/')).items.map((i) => i.value),
        [8],
      );
      same(await records.put('cnt.a/1', 0, { expect: first!.revision }), null, 'an add overtakes a put');
    },
  },
  {
    name: 'counters: put sets a counter and delete removes it',
    async run({ records }) {
      await records.put('cnt.put/1', 40);
      same(await records.add('cnt.put/1', 2), 42);
      ok(await records.delete('cnt.put/1'), 'it was there');
      same(await records.add('cnt.put/1', 1), 1);
    },
  },
  {
    name: 'counters: a counter reaches max but never exceeds it, and a rejected add changes nothing',
    async run({ records }) {
      same(await records.add('cnt.max/1', 3, { max: 2 }), null);
      same(await records.get('cnt.max/1'), null, 'a refused add makes no counter');
      same(await records.add('cnt.max/1', 2, { max: 3 }), 2);
      same(await records.add('cnt.max/1', 2, { max: 3 }), null);
      same((await records.get('cnt.max/1'))?.value, 2);
      same(await records.add('cnt.max/1', 1, { max: 3 }), 3);
      same(await records.add('cnt.max/1', 1, { max: 3 }), null);
      same(await records.add('cnt.max/1', 1), 4, 'no limit without max');
    },
  },
  {
    name: 'counters: a negative delta subtracts, but never below 0',
    async run({ records }) {
      same(await records.add('cnt.neg/1', -1), null, 'nothing to subtract from');
      same(await records.get('cnt.neg/1'), null);
      await records.add('cnt.neg/1', 3);
      same(await records.add('cnt.neg/1', -2), 1);
      same(await records.add('cnt.neg/1', -2), null, 'more than the value');
      same((await records.get('cnt.neg/1'))?.value, 1);
      same(await records.add('cnt.neg/1', -1), 0);
      same(await records.add('cnt.neg/1', 1, { max: 1 }), 1, 'the subtracted amount can be added again');
    },
  },
  {
    name: 'counters: fifty concurrent adds never exceed max, and none is lost',
    async run({ records }) {
      const results = await Promise.all(
        Array.from({ length: 50 }, () => records.add('cnt.race/1', 1, { max: 20 })),
      );
      const values = results.filter((v) => v !== null).sort((a, b) => a - b);
      same(
        values,
        Array.from({ length: 20 }, (_, i) => i + 1),
        'each value is given once',
      );
      same((await records.get('cnt.race/1'))?.value, 20);
      await Promise.all(Array.from({ length: 50 }, (_, i) => records.add('cnt.race/2', i)));
      same((await records.get('cnt.race/2'))?.value, 1225);
    },
  },
  {
    name: 'counters: fifty concurrent subtractions stop at 0',
    async run({ records }) {
      await records.add('cnt.back/1', 20);
      const results = await Promise.all(Array.from({ length: 50 }, () => records.add('cnt.back/1', -1)));
      same(results.filter((v) => v !== null).length, 20);
      same((await records.get('cnt.back/1'))?.value, 0);
    },
  },
  {
    name: 'counters: only the add that creates a counter sets its expiry, and an expired counter starts again',
    async run({ records }, clock) {
      const start = clock.now();
      same(await records.add('cnt.exp/1', 5, { expiresAt: start + 60_000 }), 5);
      same(await records.add('cnt.exp/1', 1, { expiresAt: start + 600_000 }), 6);
      same(await records.add('cnt.exp/2', 1), 1);
      same(await records.add('cnt.exp/2', 1, { expiresAt: start + 60_000 }), 2);
      clock.advance(60_000);
      same(await records.get('cnt.exp/1'), null, 'gone at once');
      same(await records.add('cnt.exp/1', 2, { max: 2, expiresAt: start + 120_000 }), 2, 'from 0 again');
      same(await records.add('cnt.exp/2', 1), 3, 'made without an expiry, so it has none');
      clock.advance(60_000);
      same(await records.get('cnt.exp/1'), null, 'the new one has its own expiry');
    },
  },
  {
    name: 'counters: a delta that is not a whole number is rejected and changes nothing',
    async run({ records }) {
      for (const value of ['seven', '7', null, true, 1.5, [1], {}]) {
        await records.put('cnt.bad/other', value);
        await refuses(records.add('cnt.bad/other', 1), 'bad_request');
        same((await records.get('cnt.bad/other'))?.value, value);
      }
      for (const delta of [0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
        await refuses(records.add('cnt.bad/1', delta), 'bad_request');
      }
      same(await records.get('cnt.bad/1'), null);
    },
  },
];
