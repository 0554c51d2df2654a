import { ok, same } from './assert.ts';
import { collect, patterned, sameBytes, sha256, streamOf } from './bodies.ts';
import type { Case } from './case.ts';

/** Sizes below and above the limits at which engines store a body differently. */
const SIZES = [0, 77, 4096, 125_000, 1_500_000];

/** An array whose `slice` does not copy the bytes, like `slice` of a Node Buffer. */
class Uncopied extends Uint8Array<ArrayBuffer> {
  override slice(start?: number, end?: number): Uint8Array<ArrayBuffer> {
    return this.subarray(start, end);
  }
}

export const stagedCases: readonly Case[] = [
  {
    name: 'staged: a record commits its staged blobs, given as bytes or as streams',
    async run({ blobs, records }) {
      for (const size of SIZES) {
        const bytes = patterned(size, size + 1);
        const one = await blobs.stage(`stg.a/${size}`, bytes.slice(), { size });
        const two = await blobs.stage(`stg.a/${size}s`, streamOf(bytes, { piece: 5000 }));
        for (const { size: storedSize, sha256: hash } of [one, two])
          same([storedSize, hash], [size, await sha256(bytes)], `what is told of ${size}`);
        const three = await records.stage(`stg.a/${size}r`, { size });
        ok(
          await records.put(`stg.a/${size}m`, { size }, { expect: 'absent', with: [one, two, three] }),
          'the record',
        );
        for (const key of [`stg.a/${size}`, `stg.a/${size}s`]) {
          const blob = await blobs.get(key);
          sameBytes(await collect(blob!.body), bytes, key);
        }
        same((await records.get(`stg.a/${size}r`))?.value, { size });
      }
    },
  },
  {
    name: 'staged: a view of a larger buffer is stored without the rest of the buffer',
    async run({ blobs, records }) {
      const all = patterned(9000, 4);
      const part = new Uncopied(all.buffer as ArrayBuffer, 100, 500);
      await blobs.put('stg.part/put', part);
      const staged = await blobs.stage('stg.part/staged', part);
      await records.put('stg.part/m', 1, { with: [staged] });
      for (const key of ['stg.part/put', 'stg.part/staged'])
        sameBytes(await collect((await blobs.get(key))!.body), all.slice(100, 600), key);
    },
  },
  {
    name: 'staged: an entry commits its staged writes',
    async run({ blobs, records, logs }) {
      const blob = await blobs.stage('stg.log/b', patterned(9000, 3));
      const record = await records.stage('stg.log/r', 1);
      ok(await logs.append('stg.log', 'made', { expectSeq: 0, with: [blob, record] }), 'the entry');
      sameBytes(await collect((await blobs.get('stg.log/b'))!.body), patterned(9000, 3), 'the body');
      same((await records.get('stg.log/r'))?.value, 1);
    },
  },
  {
    name: 'staged: after a failed expectation a staged write can be used again or deleted',
    async run({ blobs, records }) {
      const revision = await records.put('stg.again/m', 'first');
      const blob = await blobs.stage('stg.again/b', patterned(5000, 1));
      same(await records.put('stg.again/m', 'second', { expect: 'absent', with: [blob] }), null);
      ok(await records.put('stg.again/m', 'second', { expect: revision!, with: [blob] }), 'the record');
      sameBytes(await collect((await blobs.get('stg.again/b'))!.body), patterned(5000, 1), 'the body');
      await blobs.stage('stg.again/never', patterned(5000, 2));
      await blobs.delete('stg.again/never');
      same(await blobs.get('stg.again/never'), null);
    },
  },
  {
    name: 'staged: a staged body expires as announced, by a number or a function',
    async run({ blobs, records }, clock) {
      const ends = clock.now() + 5000;
      const first = await blobs.stage('stg.ends/1', patterned(100, 1), { expiresAt: ends });
      const second = await blobs.stage('stg.ends/2', patterned(100, 1), { expiresAt: async () => ends });
      await records.put('stg.ends/m', 1, { with: [first, second] });
      ok(await blobs.get('stg.ends/1'), 'the body');
      clock.advance(6000);
      same([await blobs.get('stg.ends/1'), await blobs.get('stg.ends/2')], [null, null]);
    },
  },
  {
    name: 'records: the entry that announces a record is appended once with it, and not if the put fails',
    async run({ records, logs }) {
      for (const key of ['ptr.told/m', 'stg.told/m']) {
        const before = (await logs.info('chn.told')).count;
        const append = { stream: 'chn.told', data: { of: key }, id: key };
        ok(await records.put(key, 1, { expect: 'absent', append }), 'the record');
        same((await logs.read('chn.told')).entries.at(-1)?.data, { of: key });
        same(await records.put(key, 2, { expect: 'absent', append: { ...append, id: 'other' } }), null);
        ok(await records.put(key, 2, { append }), 'the same put again, already announced');
        same((await logs.info('chn.told')).count, before + 1);
      }
    },
  },
  {
    name: 'records: a subscriber receives the entry that was written with a record',
    async run({ records, logs }) {
      const stopping = new AbortController();
      const subscription = logs.subscribe('chn.heard', { signal: stopping.signal })[Symbol.asyncIterator]();
      const first = subscription.next();
      await records.put('stg.heard/m', 'there', { append: { stream: 'chn.heard', data: 1, id: 'a' } });
      same((await first).value?.data, 1);
      same((await records.get('stg.heard/m'))?.value, 'there');
      stopping.abort();
    },
  },
];
