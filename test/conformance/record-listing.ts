import { ok, refuses, same } from './assert.ts';
import type { Case } from './case.ts';
import { IN_ORDER, range, shuffled } from './keys.ts';

export const recordListingCases: readonly Case[] = [
  {
    name: 'records: a listing is in UTF-8 key order, whatever the order of the writes',
    async run({ records }) {
      const keys = IN_ORDER.map((n) => `rec.order/${n}`);
      for (const key of shuffled(keys)) await records.put(key, key);
      const page = await records.list('rec.order/');
      same(
        page.items.map((i) => i.key),
        keys,
      );
      same(
        page.items.map((i) => i.value),
        keys,
      );
      same(page.next, undefined);
      for (const item of page.items) same(item.revision, (await records.get(item.key))?.revision);
    },
  },
  {
    name: 'records: pages follow each other without gaps or repeats',
    async run({ records }) {
      const keys = range(25).map((i) => `rec.page/${String(i).padStart(2, '0')}`);
      for (const key of shuffled(keys)) await records.put(key, 0);
      for (const limit of [1, 7, 24, 25, 26]) {
        const listedKeys: string[] = [];
        let after: string | undefined;
        do {
          const page = await records.list('rec.page/', { after, limit });
          ok(page.items.length > 0, 'a page announced by next is not empty');
          ok(page.items.length <= limit, 'no more than asked for');
          listedKeys.push(...page.items.map((i) => i.key));
          after = page.next;
        } while (after !== undefined);
        same(listedKeys, keys, `with ${limit} a page`);
      }
      same((await records.list('rec.page/', { after: 'rec.page/24' })).items, []);
    },
  },
  {
    name: "records: a tenant's pointers are one list, wherever the engine stores them",
    async run({ records }) {
      const list = 'ten.a/pointers/';
      const keys = range(300).map((i) => `${list}${i.toString(16).padStart(12, '0')}.${crypto.randomUUID()}`);
      await Promise.all(shuffled(keys).map((key) => records.put(key, key)));
      await records.put(`ten.b/pointers/000000000000.${crypto.randomUUID()}`, 'of another');
      for (const limit of [3, 100, 299, 1000]) {
        const listedKeys: string[] = [];
        let after: string | undefined;
        do {
          const page = await records.list(list, { after, limit });
          ok(page.items.length > 0 && page.items.length <= limit, 'at least one and at most the limit');
          listedKeys.push(...page.items.map((i) => i.key));
          after = page.next;
        } while (after !== undefined);
        same(listedKeys, keys, `with ${limit} a page`);
      }
      await records.delete(keys[0]!);
      same((await records.list(list, { limit: 1 })).items[0]?.key, keys[1]);
    },
  },
  {
    name: 'records: a listing continues after a key that no longer exists',
    async run({ records }) {
      for (const i of range(6)) await records.put(`rec.cursor/${i}`, i);
      const first = await records.list('rec.cursor/', { limit: 3 });
      await records.delete('rec.cursor/2');
      await records.delete(first.next!);
      await records.delete('rec.cursor/3');
      const rest = await records.list('rec.cursor/', { after: first.next! });
      same(
        rest.items.map((i) => i.value),
        [4, 5],
      );
    },
  },
  {
    name: 'records: a page has 100 items by default and at most 1000',
    async run({ records }) {
      await Promise.all(range(101).map((i) => records.put(`rec.many/${i}`, i)));
      const page = await records.list('rec.many/');
      same(page.items.length, 100);
      ok(page.next !== undefined, 'and there is more');
      same((await records.list('rec.many/', { limit: 1000 })).items.length, 101);
      for (const limit of [0, -1, 1001, 1.5, Number.NaN]) {
        await refuses(records.list('rec.many/', { limit }), 'bad_request');
      }
    },
  },
  {
    name: 'records: a prefix is text and not a pattern, and does not match its neighbours',
    async run({ records }) {
      const segments = ['rec.a', 'rec.a%', 'rec.a_', 'rec.ab', 'rec.a*', 'rec.A', 'rec.a\uffff', 'rec.a😀'];
      for (const s of segments)
        for (const n of ['x', 'xy', 'x%', 'x_', 'x/1', 'X']) await records.put(`${s}/${n}`, n);
      for (const s of segments) {
        const { items } = await records.list(`${s}/`);
        same(
          items.map((i) => i.key),
          ['X', 'x', 'x%', 'x/1', 'x_', 'xy'].map((n) => `${s}/${n}`),
        );
        same(
          (await records.list(`${s}/x%`)).items.map((i) => i.value),
          ['x%'],
        );
        same(
          (await records.list(`${s}/x_`)).items.map((i) => i.value),
          ['x_'],
        );
        same(
          (await records.list(`${s}/x`)).items.map((i) => i.value),
          ['x', 'x%', 'x/1', 'x_', 'xy'],
        );
        same((await records.list(`${s}/none`)).items, []);
      }
    },
  },
  {
    name: 'records: a prefix without a complete first segment is rejected',
    async run({ records }) {
      await refuses(records.list(''), 'bad_request');
      await refuses(records.list('rec.a'), 'bad_request');
      await refuses(records.list('rec.a/\ud800'), 'bad_request');
    },
  },
];
