import type { Blobs } from '../../src/kernel/blobs.ts';
import { fails, ok, refuses, same } from './assert.ts';
import { blobListingCases } from './blob-listing.ts';
import { blobReadingCases } from './blob-reading.ts';
import { collect, LARGE, patterned, sameBytes, sha256, streamOf, zeros } from './bodies.ts';
import type { Case } from './case.ts';
import { damagedBlobCases } from './damaged-blobs.ts';
import { longestKey, ODD_NAMES, range } from './keys.ts';

/** Sizes around the limits at which engines store a body differently. */
const SIZES = [
  0,
  1,
  2,
  1023,
  4096,
  65_535,
  65_536,
  65_537,
  128 * 1024 - 1,
  128 * 1024,
  128 * 1024 + 1,
  700_001,
];

/** Maximum number of bytes that one case writes, so that it stays fast. */
const AFFORDABLE = 128 * 1024 * 1024;

const readingAndWriting: readonly Case[] = [
  {
    name: 'blobs: bytes and streams of any size are returned exactly, with size and SHA-256',
    async run({ blobs }) {
      for (const size of SIZES) {
        const bytes = patterned(size, size + 1);
        const info = { size, sha256: await sha256(bytes) };
        same(await blobs.put(`blb.a/${size}`, bytes), info, `bytes of ${size}`);
        same(await blobs.put(`blb.a/${size}s`, streamOf(bytes, { piece: 5000 })), info, `stream of ${size}`);
        for (const key of [`blb.a/${size}`, `blb.a/${size}s`]) {
          const blob = await blobs.get(key);
          same(blob?.size, size, `size of ${key}`);
          sameBytes(await collect(blob!.body), bytes, key);
        }
      }
    },
  },
  {
    name: 'blobs: the SHA-256 is lowercase hex of the bytes',
    async run({ blobs }) {
      same(await blobs.put('blb.sha/1', new TextEncoder().encode('abc')), {
        size: 3,
        sha256: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
      });
      same(await blobs.put('blb.sha/0', new Uint8Array()), {
        size: 0,
        sha256: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
      });
    },
  },
  {
    name: 'blobs: a body of several megabytes is stored and read as a stream',
    async run({ blobs }) {
      const bytes = patterned(LARGE);
      const info = await blobs.put('blb.large/1', streamOf(bytes, { piece: 100_003 }), { size: LARGE });
      same(info, { size: LARGE, sha256: await sha256(bytes) });
      sameBytes(await collect((await blobs.get('blb.large/1'))!.body), bytes);
    },
  },
  {
    name: 'blobs: a missing blob is null, and deleting it does nothing',
    async run({ blobs }) {
      same(await blobs.get('blb.none/1'), null);
      same(await blobs.get('blb.none/1', { start: 0, end: 1 }), null);
      await blobs.delete('blb.none/1');
      await blobs.put('blb.none/1', patterned(10));
      await blobs.delete('blb.none/1');
      same(await blobs.get('blb.none/1'), null);
      await blobs.delete('blb.none/1');
    },
  },
  {
    name: 'blobs: an expiry function is called after the body has arrived',
    async run({ blobs }, clock) {
      for (const [key, size] of [
        ['blb.later/1', 10],
        ['blb.later/2', 300_000],
      ] as const) {
        let arrived = false;
        const body = new ReadableStream<Uint8Array>({
          pull(controller) {
            controller.enqueue(patterned(size));
            controller.close();
            arrived = true;
          },
        });
        const expiresAt = async () => {
          ok(arrived, 'called before the body had arrived');
          return clock.now() + 1000;
        };
        await blobs.put(key, body, { expiresAt });
        ok(await blobs.get(key), 'gone too early');
        clock.advance(1000);
        same(await blobs.get(key), null);
      }
    },
  },
  {
    name: 'blobs: if the expiry function throws, nothing is stored',
    async run({ blobs }) {
      const expiresAt = () => {
        throw new Error('no idea');
      };
      for (const size of [10, 300_000]) {
        await fails(blobs.put('blb.never/1', patterned(size), { expiresAt }));
        same(await blobs.get('blb.never/1'), null);
      }
      same((await blobs.list('blb.never/')).items, []);
    },
  },
  {
    name: 'blobs: put copies the bytes, so later changes of the array do not matter',
    async run({ blobs }) {
      const bytes = patterned(1000);
      const writing = blobs.put('blb.copy/1', bytes);
      bytes.fill(0);
      same((await writing).sha256, await sha256(patterned(1000)));
      const first = await collect((await blobs.get('blb.copy/1'))!.body);
      sameBytes(first, patterned(1000), 'changed after the call');
    },
  },
  {
    name: 'blobs: a view of a larger buffer is stored without the rest of the buffer',
    async run({ blobs }) {
      const bytes = patterned(300_000);
      await blobs.put('blb.view/1', bytes.subarray(100, 900));
      await blobs.put('blb.view/2', bytes.subarray(1, 200_001));
      sameBytes(await collect((await blobs.get('blb.view/1'))!.body), bytes.slice(100, 900));
      sameBytes(await collect((await blobs.get('blb.view/2'))!.body), bytes.slice(1, 200_001));
    },
  },
  {
    name: 'blobs: a second put replaces body, size and expiry',
    async run({ blobs }, clock) {
      for (const [i, [before, after]] of [
        [500_000, 10],
        [10, 500_000],
        [200_000, 200_001],
        [300, 200],
      ].entries()) {
        const key = `blb.replace/${i}`;
        await blobs.put(key, patterned(before!, 3), { expiresAt: clock.now() + 60_000 });
        await blobs.put(key, streamOf(patterned(after!, 4)));
        const blob = (await blobs.get(key))!;
        same(blob.size, after);
        sameBytes(await collect(blob.body), patterned(after!, 4));
      }
      clock.advance(60_001);
      for (const i of range(4)) ok(await blobs.get(`blb.replace/${i}`), 'the first expiry no longer counts');
    },
  },
  {
    name: 'blobs: of many concurrent puts under one key, one complete body remains',
    async run({ blobs }) {
      const sizes = range(12).map((i) => 20_000 * (i + 1));
      await Promise.all(
        sizes.map((s, i) => blobs.put('blb.race/1', i % 2 ? patterned(s, s) : streamOf(patterned(s, s)))),
      );
      const { body, size } = (await blobs.get('blb.race/1'))!;
      ok(sizes.includes(size), 'one of them');
      sameBytes(await collect(body), patterned(size, size));
      same(
        (await blobs.list('blb.race/')).items.map((i) => i.size),
        [size],
      );
    },
  },
  {
    name: 'blobs: unusual keys stay distinct',
    async run({ blobs }) {
      const keys = [
        ...ODD_NAMES.map((n) => `blb.odd/${n}`),
        longestKey('blb.odd/'),
        'no-slash',
        '../up',
        '/root',
      ];
      for (const [i, key] of keys.entries()) await blobs.put(key, patterned(i + 1, i + 1));
      await blobs.put('blb.odd/../../large', patterned(200_000, 9));
      for (const [i, key] of keys.entries()) {
        sameBytes(await collect((await blobs.get(key))!.body), patterned(i + 1, i + 1), key);
      }
      sameBytes(await collect((await blobs.get('blb.odd/../../large'))!.body), patterned(200_000, 9));
      for (const key of keys) await blobs.delete(key);
      same(
        (await blobs.list('blb.odd/')).items.map((i) => i.key),
        ['blb.odd/../../large'],
      );
    },
  },
  {
    name: 'blobs: an empty, ill-formed or too long key is rejected',
    async run({ blobs }) {
      const calls: ((key: string, b: Blobs) => Promise<unknown>)[] = [
        (key, b) => b.put(key, patterned(1)),
        (key, b) => b.put(key, streamOf(patterned(200_000))),
        (key, b) => b.get(key),
        (key, b) => b.delete(key),
      ];
      for (const call of calls) {
        await refuses(call('', blobs), 'bad_request');
        await refuses(call('blb.bad/\ud83d', blobs), 'bad_request');
        await refuses(call('blb.bad/\0', blobs), 'bad_request');
        await refuses(call(`${longestKey('blb.bad/')}x`, blobs), 'too_large');
      }
      same((await blobs.list('blb.bad/')).items, []);
    },
  },
];

const refusing: readonly Case[] = [
  {
    name: 'blobs: a failing stream stores nothing and keeps the previous blob',
    async run({ blobs }) {
      await blobs.put('blb.fail/kept', patterned(300_000, 2));
      for (const failAt of [0, 1, 30]) {
        await fails(blobs.put(`blb.fail/${failAt}`, streamOf(patterned(LARGE), { failAt })));
        await fails(blobs.put('blb.fail/kept', streamOf(patterned(LARGE), { failAt })));
        same(await blobs.get(`blb.fail/${failAt}`), null);
      }
      sameBytes(await collect((await blobs.get('blb.fail/kept'))!.body), patterned(300_000, 2));
      same(
        (await blobs.list('blb.fail/')).items.map((i) => [i.key, i.size]),
        [['blb.fail/kept', 300_000]],
      );
    },
  },
  {
    name: 'blobs: a body with another length than announced is rejected and not stored',
    async run({ blobs }) {
      for (const real of [100, 300_000]) {
        await blobs.put('blb.size/kept', patterned(real, 7));
        for (const size of [real - 1, real + 1, 0]) {
          await refuses(blobs.put('blb.size/1', patterned(real), { size }), 'bad_request');
          await refuses(blobs.put('blb.size/2', streamOf(patterned(real)), { size }), 'bad_request');
          await refuses(blobs.put('blb.size/kept', streamOf(patterned(real)), { size }), 'bad_request');
        }
        same(
          (await blobs.list('blb.size/')).items.map((i) => i.key),
          ['blb.size/kept'],
        );
        sameBytes(await collect((await blobs.get('blb.size/kept'))!.body), patterned(real, 7));
        same((await blobs.put('blb.size/right', streamOf(patterned(real)), { size: real })).size, real);
        await blobs.delete('blb.size/right');
      }
    },
  },
  {
    name: 'blobs: a stream longer than announced is cancelled',
    async run({ blobs }) {
      let pulled = 0;
      let cancelled = false;
      const body = streamOf(patterned(LARGE), {
        onPull: (piece) => {
          pulled = piece;
        },
        onCancel: () => {
          cancelled = true;
        },
      });
      await refuses(blobs.put('blb.stop/1', body, { size: 1000 }), 'bad_request');
      ok(pulled * 64 * 1024 < LARGE, 'it was not read to its end');
      ok(cancelled, 'its producer was cancelled');
    },
  },
  {
    name: 'blobs: a body above the limit is rejected, by its announced size or while it arrives',
    async run({ blobs, limits }) {
      if (limits.blobBytes >= Number.MAX_SAFE_INTEGER) return;
      const size = limits.blobBytes + 1;
      let pulls = 0;
      const body = streamOf(patterned(10), { onPull: () => pulls++ });
      await refuses(blobs.put('blb.huge/1', body, { size }), 'too_large');
      same(pulls, 0, 'an announced size above the limit is rejected before reading');
      if (size <= AFFORDABLE) await refuses(blobs.put('blb.huge/2', zeros(size)), 'too_large');
      same((await blobs.list('blb.huge/')).items, []);
    },
  },
];

export const blobCases: readonly Case[] = [
  ...readingAndWriting,
  ...refusing,
  ...blobReadingCases,
  ...damagedBlobCases,
  ...blobListingCases,
];
