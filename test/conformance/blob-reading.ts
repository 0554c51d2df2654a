import { ok, refuses, same } from './assert.ts';
import { collect, LARGE, patterned, sameBytes, started, streamOf } from './bodies.ts';
import type { Case } from './case.ts';

export const blobReadingCases: readonly Case[] = [
  {
    name: 'blobs: a range returns its bytes without the end, and the size of the whole blob',
    async run({ blobs }) {
      for (const size of [1000, 400_000]) {
        const bytes = patterned(size, size);
        await blobs.put('blb.range/1', bytes);
        for (const [start, end] of [
          [0, 1],
          [0, size],
          [1, 2],
          [size - 1, size],
          [7, 999],
          [size >> 1, size],
        ]) {
          const blob = (await blobs.get('blb.range/1', { start: start!, end: end! }))!;
          same(blob.size, size);
          sameBytes(await collect(blob.body), bytes.slice(start, end), `${start} to ${end}`);
        }
      }
    },
  },
  {
    name: 'blobs: a range outside the blob is rejected and not truncated',
    async run({ blobs }) {
      for (const size of [10, 300_000]) {
        await blobs.put('blb.outside/1', patterned(size));
        for (const [start, end] of [
          [0, size + 1],
          [size + 1, size + 2],
          [-1, 5],
          [5, 4],
          [0.5, 2],
          [Number.NaN, 2],
        ]) {
          await refuses(blobs.get('blb.outside/1', { start: start!, end: end! }), 'range_not_satisfiable');
        }
      }
    },
  },
  {
    name: 'blobs: a running read continues when the blob is deleted or replaced',
    async run(engine) {
      const { blobs } = engine;
      for (const size of [1000, 200_000, LARGE]) {
        const bytes = patterned(size, size);
        await blobs.put('blb.began/1', bytes);
        const one = await started((await blobs.get('blb.began/1'))!.body, 1);
        const two = await started((await blobs.get('blb.began/1', { start: 10, end: size }))!.body, 1);
        const unread = (await blobs.get('blb.began/1'))!;
        await blobs.put('blb.began/1', patterned(50, 5));
        await blobs.delete('blb.began/1');
        await engine.sweep();
        sameBytes(await one.rest(), bytes, `the reader of ${size}`);
        sameBytes(await two.rest(), bytes.slice(10), `the reader of a range of ${size}`);
        sameBytes(await collect(unread.body), bytes, `the reader that had not read any of ${size}`);
        same(await blobs.get('blb.began/1'), null);
      }
    },
  },
  {
    name: 'blobs: a reader may stop early, and the next one starts from the beginning',
    async run({ blobs }) {
      const bytes = patterned(LARGE);
      await blobs.put('blb.half/1', bytes);
      for (let i = 0; i < 5; i++) {
        const { body } = (await blobs.get('blb.half/1'))!;
        if (body instanceof Uint8Array) continue;
        const reader = body.getReader();
        await reader.read();
        await reader.cancel();
      }
      sameBytes(await collect((await blobs.get('blb.half/1'))!.body), bytes);
    },
  },
  {
    name: 'blobs: an expired blob is invisible at once',
    async run({ blobs }, clock) {
      const expiresAt = clock.now() + 60_000;
      await blobs.put('blb.exp/small', patterned(10), { expiresAt });
      await blobs.put('blb.exp/large', streamOf(patterned(300_000)), { expiresAt });
      await blobs.put('blb.exp/stays', patterned(10));
      clock.advance(59_999);
      ok(await blobs.get('blb.exp/small'), 'just before');
      const reader = await started((await blobs.get('blb.exp/large'))!.body, 1);
      clock.advance(1);
      same(await blobs.get('blb.exp/small'), null);
      same(await blobs.get('blb.exp/large'), null);
      same(await blobs.get('blb.exp/large', { start: 0, end: 1 }), null);
      same(
        (await blobs.list('blb.exp/')).items.map((i) => i.key),
        ['blb.exp/stays'],
      );
      sameBytes(await reader.rest(), patterned(300_000), 'a reader that began in time');
      await blobs.put('blb.exp/small', patterned(20));
      same((await blobs.get('blb.exp/small'))?.size, 20, 'it can be written again');
    },
  },
];
