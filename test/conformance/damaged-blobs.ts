import { isRelayError } from '../../src/base/errors.ts';
import type { Blobs, ByteRange } from '../../src/kernel/blobs.ts';
import { BLOCK_BYTES } from '../../src/kernel/block-hashes.ts';
import { ok, refuses, same } from './assert.ts';
import { collect, LARGE, patterned, sameBytes, streamOf } from './bodies.ts';
import type { Case } from './case.ts';
import { range } from './keys.ts';

export const damagedBlobCases: readonly Case[] = [
  {
    name: 'blobs: no wrong byte of an altered body is returned, and the reader gets an error',
    async run({ blobs }, _clock, below) {
      for (const size of [1, 3000, 100_000, 300_000, 900_000, LARGE]) {
        const bytes = patterned(size, size);
        for (const at of new Set([0, size >> 1, size - 1])) {
          const key = `dmg.altered/${size}-${at}`;
          await blobs.put(key, size % 2 ? bytes : streamOf(bytes));
          await below.damage(key, at);
          const received = await untilDamage(blobs, key);
          ok(received.length <= at, `${received.length} bytes given, and byte ${at} is wrong`);
          sameBytes(received, bytes.slice(0, received.length), `what came before byte ${at}`);
        }
      }
    },
  },
  {
    name: 'blobs: if the first bytes are damaged, get itself throws',
    async run({ blobs }, _clock, below) {
      for (const size of [10, 5000, 200_000, LARGE]) {
        await blobs.put('dmg.first/1', patterned(size));
        await below.damage('dmg.first/1', 0);
        await refuses(blobs.get('dmg.first/1'), 'store_damaged');
        await refuses(blobs.get('dmg.first/1', { start: 0, end: 1 }), 'store_damaged');
      }
    },
  },
  {
    name: 'blobs: a range of a large body is verified only in the blocks that it touches',
    async run({ blobs }, _clock, below) {
      const bytes = patterned(LARGE);
      await blobs.put('dmg.range/1', bytes);
      const block = { start: 40 * BLOCK_BYTES, end: 41 * BLOCK_BYTES };
      await below.damage('dmg.range/1', block.start + 1000);
      for (const [start, end] of [
        [0, block.start],
        [block.start - 1, block.start],
        [block.end, block.end + 1],
        [block.end, LARGE],
        [LARGE - 1, LARGE],
      ] as const) {
        const { body } = (await blobs.get('dmg.range/1', { start, end }))!;
        sameBytes(await collect(body), bytes.slice(start, end), `${start} to ${end}`);
      }
      for (const [start, end] of [
        [block.start, block.start + 1],
        [block.end - 1, block.end],
        [block.start - 5, block.start + 5],
        [block.end - 5, block.end + 5],
        [0, LARGE],
      ] as const) {
        const received = await untilDamage(blobs, 'dmg.range/1', { start, end });
        ok(
          received.length <= Math.max(0, block.start - start),
          `nothing of the block for ${start} to ${end}`,
        );
        sameBytes(
          received,
          bytes.slice(start, start + received.length),
          `what came before it, ${start} to ${end}`,
        );
      }
    },
  },
  {
    name: 'blobs: ranges at and around block boundaries return their bytes',
    async run({ blobs }) {
      for (const size of [BLOCK_BYTES, 2 * BLOCK_BYTES, 3 * BLOCK_BYTES + 7, 20 * BLOCK_BYTES]) {
        const bytes = patterned(size, size);
        await blobs.put('dmg.edges/1', bytes);
        const edges = [0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, size - 1, size];
        for (const start of edges) {
          for (const end of edges.filter((edge) => edge >= start && edge <= size)) {
            const { body } = (await blobs.get('dmg.edges/1', { start, end }))!;
            sameBytes(await collect(body), bytes.slice(start, end), `${start} to ${end} of ${size}`);
          }
        }
      }
    },
  },
  {
    name: 'blobs: a damaged body does not affect other blobs, a sweep, its replacement or its deletion',
    async run(engine, clock, below) {
      const { blobs } = engine;
      for (const size of [2000, 50_000, LARGE]) {
        const keys = range(5).map((i) => `dmg.way/${size}-${i}`);
        const expiresAt = clock.now() + 60_000;
        for (const [i, key] of keys.entries()) await blobs.put(key, patterned(size, i + 1), { expiresAt });
        await below.damage(keys[1]!, size >> 1);
        await below.damage(keys[2]!, size >> 1);
        await engine.sweep();
        for (const i of [0, 3, 4]) {
          sameBytes(await collect((await blobs.get(keys[i]!))!.body), patterned(size, i + 1), `body ${i}`);
        }
        await untilDamage(blobs, keys[1]!);
        await blobs.put(keys[1]!, patterned(size, 9), { expiresAt });
        sameBytes(await collect((await blobs.get(keys[1]!))!.body), patterned(size, 9), 'its successor');
        await blobs.delete(keys[2]!);
        same(await blobs.get(keys[2]!), null);
        await below.damage(keys[3]!, 0);
        clock.advance(60_000);
        same((await engine.sweep()).blobs, 4);
      }
    },
  },
];

/** Returns the bytes that can be read, and expects that the read then fails with `store_damaged`. */
async function untilDamage(blobs: Blobs, key: string, part?: ByteRange): Promise<Uint8Array> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  try {
    const { body } = (await blobs.get(key, part))!;
    if (body instanceof Uint8Array) pieces.push(new Uint8Array(body));
    else for await (const piece of body) pieces.push(new Uint8Array(piece));
  } catch (error) {
    if (!isRelayError(error, 'store_damaged')) throw error;
    return new Uint8Array(await new Blob(pieces).arrayBuffer());
  }
  throw new Error(`${key} was given whole, though it is damaged`);
}
