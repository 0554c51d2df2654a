import type { Json } from '../../src/base/json.ts';
import type { Records } from '../../src/kernel/records.ts';
import { ok, refuses, same, sameText } from './assert.ts';
import type { Case } from './case.ts';
import { counterCases } from './counters.ts';
import { jsonOfBytes, TRICKY_JSON } from './json-values.ts';
import { longestKey, ODD_NAMES, range } from './keys.ts';
import { recordListingCases } from './record-listing.ts';

const readingAndWriting: readonly Case[] = [
  {
    name: 'records: get returns what was put, with its revision',
    async run({ records }) {
      same(await records.get('rec.a/1'), null);
      const revision = await records.put('rec.a/1', { n: 1 });
      ok(revision !== null && Number.isSafeInteger(revision) && revision >= 1, 'put gives a revision');
      same(await records.get('rec.a/1'), { value: { n: 1 }, revision });
    },
  },
  {
    name: 'records: every JSON value is returned exactly',
    async run({ records }) {
      for (const [i, value] of TRICKY_JSON.entries()) {
        await records.put(`rec.json/${i}`, value);
        sameText((await records.get(`rec.json/${i}`))?.value, value, `value ${i}`);
      }
      const { items } = await records.list('rec.json/', { limit: 1000 });
      const values = new Map(items.map((item) => [item.key, item.value]));
      for (const [i, value] of TRICKY_JSON.entries())
        sameText(values.get(`rec.json/${i}`), value, `listed ${i}`);
    },
  },
  {
    name: 'records: put copies the value, and get returns a copy or a frozen value',
    async run({ records }) {
      const value = { list: [1] };
      const writing = records.put('rec.copy/1', value);
      value.list.push(2);
      await writing;
      const first = (await records.get('rec.copy/1'))?.value as { list: number[] };
      same(first, { list: [1] }, 'changed after the call');
      try {
        first.list.push(3);
      } catch {
        // Modifying the value may fail: the engine may return a frozen value instead of a copy.
      }
      same((await records.get('rec.copy/1'))?.value, { list: [1] }, 'changed through the result of get');
    },
  },
  {
    name: 'records: an unpaired surrogate in a value is returned exactly or rejected',
    async run({ records }) {
      const value: Json = { text: 'a\ud800b' };
      const outcome = await records.put('rec.lone/1', value).catch((error) => error);
      if (outcome instanceof Error) {
        await refuses(Promise.reject(outcome), 'bad_request');
        same(await records.get('rec.lone/1'), null);
      } else {
        same((await records.get('rec.lone/1'))?.value, value);
      }
    },
  },
  {
    name: 'records: unusual keys stay distinct',
    async run({ records }) {
      const keys = [...ODD_NAMES, longestKey('rec.odd/').slice('rec.odd/'.length)].map((n) => `rec.odd/${n}`);
      for (const [i, key] of keys.entries()) await records.put(key, i);
      for (const [i, key] of keys.entries()) same((await records.get(key))?.value, i, key);
      same((await records.list('rec.odd/', { limit: 1000 })).items.length, keys.length);
      for (const key of keys) ok(await records.delete(key), `${key} was there`);
      same((await records.list('rec.odd/')).items, []);
    },
  },
  {
    name: 'records: an empty, ill-formed or too long key is rejected',
    async run({ records }) {
      for (const call of keyed(records)) {
        await refuses(call(''), 'bad_request');
        await refuses(call('rec.bad/\ud800'), 'bad_request');
        await refuses(call('rec.bad/\udc00x'), 'bad_request');
        await refuses(call('rec.bad/a\0b'), 'bad_request');
        await refuses(call(`${longestKey('rec.bad/')}x`), 'too_large');
      }
      same((await records.list('rec.bad/')).items, []);
    },
  },
  {
    name: 'records: a value at the size limit is stored, and one byte more is rejected and changes nothing',
    async run({ records, limits }) {
      const full = jsonOfBytes(limits.recordBytes);
      ok((await records.put('rec.big/1', full)) !== null, 'the largest value is stored');
      same((await records.get('rec.big/1'))?.value, full);
      await refuses(records.put('rec.big/1', jsonOfBytes(limits.recordBytes + 1)), 'too_large');
      same((await records.get('rec.big/1'))?.value, full);
      await refuses(records.put('rec.big/2', 'é'.repeat(Math.ceil(limits.recordBytes / 2))), 'too_large');
      same(await records.get('rec.big/2'), null);
    },
  },
];

const racing: readonly Case[] = [
  {
    name: 'records: of many puts that expect absence, one wins and its value stays',
    async run({ records }) {
      const results = await Promise.all(
        range(40).map((i) => records.put('rec.race/absent', { by: i }, { expect: 'absent' })),
      );
      const winners = range(40).filter((i) => results[i] !== null);
      same(winners.length, 1, 'winners');
      same(await records.get('rec.race/absent'), {
        value: { by: winners[0] },
        revision: results[winners[0]!],
      });
    },
  },
  {
    name: 'records: of many puts that expect the same revision, one wins',
    async run({ records }) {
      let revision = (await records.put('rec.race/number', -1))!;
      for (let round = 0; round < 5; round++) {
        const results = await Promise.all(
          range(20).map((i) => records.put('rec.race/number', i, { expect: revision })),
        );
        const winners = results.filter((r) => r !== null);
        same(winners.length, 1, 'winners');
        ok(winners[0]! > revision, 'revisions grow');
        revision = winners[0]!;
        same((await records.get('rec.race/number'))?.revision, revision);
      }
    },
  },
  {
    name: 'records: writers that read, add one, and put with expect until they win lose nothing',
    async run({ records }) {
      await records.put('rec.race/sum', 0);
      await Promise.all(
        range(12).map(async () => {
          for (;;) {
            const { value, revision } = (await records.get('rec.race/sum'))!;
            const won = await records.put('rec.race/sum', (value as number) + 1, { expect: revision });
            if (won !== null) return;
          }
        }),
      );
      same((await records.get('rec.race/sum'))?.value, 12);
    },
  },
  {
    name: 'records: of many deletes of the same revision, one succeeds',
    async run({ records }) {
      const revision = (await records.put('rec.race/gone', 1))!;
      const results = await Promise.all(
        range(20).map(() => records.delete('rec.race/gone', { expect: revision })),
      );
      same(results.filter(Boolean).length, 1);
    },
  },
  {
    name: 'records: a put whose expectation fails changes nothing',
    async run({ records }) {
      same(
        await records.put('rec.expect/1', 'x', { expect: 1 }),
        null,
        'a revision is expected but the record is absent',
      );
      same(await records.get('rec.expect/1'), null);
      const first = (await records.put('rec.expect/1', 'x', { expect: 'absent' }))!;
      same(await records.put('rec.expect/1', 'y', { expect: 'absent' }), null);
      const second = (await records.put('rec.expect/1', 'z', { expect: first }))!;
      same(await records.put('rec.expect/1', 'y', { expect: first }), null, 'an old revision');
      same(await records.get('rec.expect/1'), { value: 'z', revision: second });
      same(await records.delete('rec.expect/1', { expect: first }), false);
      same(await records.get('rec.expect/1'), { value: 'z', revision: second });
      same(await records.delete('rec.expect/1', { expect: second }), true);
      same(await records.delete('rec.expect/1'), false, 'deleted twice');
      same(
        await records.put('rec.expect/1', 'y', { expect: second }),
        null,
        'the revision of a deleted record',
      );
    },
  },
  {
    name: 'records: revisions increase across delete, expiry and sweep',
    async run(engine, clock) {
      const { records } = engine;
      let last = 0;
      const grew = (revision: number | null, how: string) => {
        ok(revision !== null && revision > last, `after ${how}: ${revision} follows ${last}`);
        last = revision;
      };
      grew(await records.put('rec.grow/1', 1), 'the first put');
      grew(await records.put('rec.grow/1', 1), 'the same value');
      await records.delete('rec.grow/1');
      grew(await records.put('rec.grow/1', 1), 'a delete');
      await records.delete('rec.grow/1');
      await engine.sweep();
      grew(
        await records.put('rec.grow/1', 1, { expect: 'absent', expiresAt: clock.now() + 60_000 }),
        'a sweep',
      );
      clock.advance(60_001);
      await engine.sweep();
      grew(await records.put('rec.grow/1', 1, { expect: 'absent' }), 'expiry');
    },
  },
];

const expiring: readonly Case[] = [
  {
    name: 'records: an expired record is invisible at once and counts as absent',
    async run({ records }, clock) {
      const expiresAt = clock.now() + 60_000;
      const revision = (await records.put('rec.exp/1', 'old', { expiresAt }))!;
      await records.put('rec.exp/2', 'stays');
      clock.advance(59_999);
      same((await records.get('rec.exp/1'))?.value, 'old', 'just before');
      same((await records.list('rec.exp/')).items.length, 2);
      clock.advance(1);
      same(await records.get('rec.exp/1'), null, 'at the moment itself');
      same(
        (await records.list('rec.exp/')).items.map((i) => i.key),
        ['rec.exp/2'],
      );
      same(await records.delete('rec.exp/1'), false, 'there is nothing to delete');
      same(await records.put('rec.exp/1', 'x', { expect: revision }), null, 'its revision is gone');
      const next = await records.put('rec.exp/1', 'new', { expect: 'absent' });
      ok(next !== null && next > revision, 'it can be created again');
      same(await records.get('rec.exp/1'), { value: 'new', revision: next });
    },
  },
  {
    name: 'records: a put replaces the expiry, and a put without expiry removes it',
    async run({ records }, clock) {
      await records.put('rec.exp/a', 1, { expiresAt: clock.now() + 60_000 });
      await records.put('rec.exp/a', 2, { expiresAt: clock.now() + 120_000 });
      await records.put('rec.exp/b', 1, { expiresAt: clock.now() + 60_000 });
      await records.put('rec.exp/b', 2);
      clock.advance(60_000);
      same((await records.get('rec.exp/a'))?.value, 2);
      clock.advance(60_000);
      same(await records.get('rec.exp/a'), null);
      clock.advance(10 * 365 * 86_400_000);
      same((await records.get('rec.exp/b'))?.value, 2);
    },
  },
  {
    name: 'records: an expiry in the past is rejected or takes effect at once',
    async run({ records }, clock) {
      const writing = records.put('rec.exp/past', 1, { expiresAt: clock.now() - 1 });
      await writing.catch(() => refuses(writing, 'bad_request'));
      same(await records.get('rec.exp/past'), null);
      await refuses(records.put('rec.exp/past', 1, { expiresAt: Number.NaN }), 'bad_request');
      same(await records.get('rec.exp/past'), null);
    },
  },
];

export const recordCases: readonly Case[] = [
  ...readingAndWriting,
  ...racing,
  ...expiring,
  ...recordListingCases,
  ...counterCases,
];

function keyed(records: Records): ((key: string) => Promise<unknown>)[] {
  return [
    (key) => records.get(key),
    (key) => records.put(key, 1),
    (key) => records.add(key, 1),
    (key) => records.delete(key),
  ];
}
