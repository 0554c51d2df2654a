import { ok, refuses, same } from './assert.ts';
import { patterned, streamOf } from './bodies.ts';
import type { Case } from './case.ts';
import { IN_ORDER, range, shuffled } from './keys.ts';

export const blobListingCases: readonly Case[] = [
  {
    name: 'blobs: a listing is in UTF-8 key order, with size and time of each blob',
    async run({ blobs }, clock) {
      const keys = IN_ORDER.map((n) => `bll.order/${n}`);
      const expectedByKey = new Map<string, { key: string; size: number; at: number }>();
      for (const [i, key] of shuffled(keys).entries()) {
        clock.advance(1000);
        const bytes = patterned(i % 3 ? i : 150_000 + i);
        await blobs.put(key, i % 2 ? bytes : streamOf(bytes));
        expectedByKey.set(key, { key, size: bytes.length, at: clock.now() });
      }
      const page = await blobs.list('bll.order/');
      same(
        page.items.map(({ key, size, at }) => ({ key, size, at })),
        keys.map((key) => expectedByKey.get(key)),
      );
      same(page.next, undefined);
    },
  },
  {
    name: 'blobs: pages follow each other without gaps or repeats',
    async run({ blobs }) {
      const keys = range(25).map((i) => `bll.page/${String(i).padStart(2, '0')}`);
      for (const key of shuffled(keys)) await blobs.put(key, patterned(1));
      for (const limit of [1, 7, 24, 25, 26]) {
        const listedKeys: string[] = [];
        let after: string | undefined;
        do {
          const page = await blobs.list('bll.page/', { after, limit });
          ok(page.items.length > 0 && page.items.length <= limit, 'at least one and at most the limit');
          listedKeys.push(...page.items.map((i) => i.key));
          after = page.next;
        } while (after !== undefined);
        same(listedKeys, keys, `with ${limit} a page`);
      }
    },
  },
  {
    name: 'blobs: a caller that deletes while it lists still gets every blob',
    async run({ blobs }) {
      for (const i of range(20)) await blobs.put(`bll.sweep/${i}`, patterned(i));
      let met = 0;
      let after: string | undefined;
      do {
        const page = await blobs.list('bll.sweep/', { after, limit: 3 });
        for (const { key } of page.items) await blobs.delete(key);
        met += page.items.length;
        after = page.next;
      } while (after !== undefined);
      same(met, 20);
      same((await blobs.list('bll.sweep/')).items, []);
    },
  },
  {
    name: 'blobs: a prefix is text and not a pattern, and an empty prefix lists all',
    async run({ blobs }) {
      const keys = ['bll.p%/x', 'bll.p*/x', 'bll.pA/x', 'bll.p_/x', 'bll.pa/x', 'bll.p\uffff/x', 'bll.p😀/x'];
      for (const key of shuffled(keys)) await blobs.put(key, patterned(3));
      for (const key of keys)
        same(
          (await blobs.list(key.slice(0, -1))).items.map((i) => i.key),
          [key],
        );
      same(
        (await blobs.list('bll.p')).items.map((i) => i.key),
        keys,
      );
      const all: string[] = [];
      let after: string | undefined;
      do {
        const page = await blobs.list('', { after, limit: 1000 });
        all.push(...page.items.map((i) => i.key));
        after = page.next;
      } while (after !== undefined);
      same(
        all.filter((key) => key.startsWith('bll.p')),
        keys,
      );
    },
  },
  {
    name: 'blobs: a page has 100 items by default and at most 1000',
    async run({ blobs }) {
      await Promise.all(range(101).map((i) => blobs.put(`bll.many/${i}`, patterned(1))));
      const page = await blobs.list('bll.many/');
      same(page.items.length, 100);
      ok(page.next !== undefined, 'and there is more');
      same((await blobs.list('bll.many/', { limit: 1000 })).items.length, 101);
      for (const limit of [0, -1, 1001, 1.5])
        await refuses(blobs.list('bll.many/', { limit }), 'bad_request');
      await refuses(blobs.list('bll.many/\ud800'), 'bad_request');
    },
  },
];
