import { ok, same } from './assert.ts';
import type { Case } from './case.ts';
import { range } from './keys.ts';
import { appendAll, follow, gapsMarked } from './streams.ts';

export const logTrimmingCases: readonly Case[] = [
  {
    name: 'logs: a trim deletes the entries below a sequence number and nothing else',
    async run({ logs }) {
      const sequences = await appendAll(logs, 'trm.a', range(10));
      await logs.trim('trm.a', { before: sequences[4]! });
      same(
        (await logs.read('trm.a')).entries.map((e) => e.data),
        range(10).slice(4),
      );
      same(await logs.info('trm.a'), { first: sequences[4], last: sequences[9], count: 6 });
      await logs.trim('trm.a', { before: sequences[2]! });
      await logs.trim('trm.a', { before: sequences[4]! });
      await logs.trim('trm.a', { before: 0 });
      same((await logs.info('trm.a')).count, 6, 'trimming less than before does nothing');
      await logs.trim('trm.a', { before: sequences[5]! + 1 });
      same((await logs.info('trm.a')).first, sequences[6]);
      await logs.trim('trm.none', { before: 5 });
      same(await logs.info('trm.none'), { first: 0, last: 0, count: 0 });
    },
  },
  {
    name: 'logs: a trim never deletes the last entry, so expectSeq still works',
    async run({ logs }) {
      const sequences = await appendAll(logs, 'trm.last', range(5));
      const last = sequences[4]!;
      await logs.trim('trm.last', { before: last + 1 });
      same(await logs.info('trm.last'), { first: last, last, count: 1 });
      await logs.trim('trm.last', { before: Number.MAX_SAFE_INTEGER });
      same(await logs.info('trm.last'), { first: last, last, count: 1 });
      same(await logs.append('trm.last', 'x', { expectSeq: 0 }), null, 'it is not empty');
      const next = await logs.append('trm.last', 'next', { expectSeq: last });
      ok(next !== null && next > last, 'sequences go on');
      same(
        (await logs.read('trm.last')).entries.map((e) => e.data),
        [4, 'next'],
      );
    },
  },
  {
    name: 'logs: a read reports whether entries after its cursor were trimmed',
    async run({ logs }) {
      const sequences = await appendAll(logs, 'trm.gap', range(10));
      same((await logs.read('trm.gap')).gap, undefined, 'before the trim');
      await logs.trim('trm.gap', { before: sequences[5]! });
      const gapAfter = async (after?: number) => (await logs.read('trm.gap', { after })).gap;
      same(await gapAfter(), true, 'from the beginning');
      same(await gapAfter(0), true);
      same(await gapAfter(sequences[0]!), true);
      same(await gapAfter(sequences[3]!), true, 'one of them is missing');
      same(await gapAfter(sequences[4]!), undefined, 'the last that is gone had been read');
      same(await gapAfter(sequences[5]!), undefined);
      same(await gapAfter(sequences[9]!), undefined, 'at the end');
      const { entries, gap } = await logs.read('trm.gap', { after: sequences[1]!, limit: 2 });
      same([entries.map((e) => e.data), gap], [[5, 6], true]);
    },
  },
  {
    name: 'logs: a subscription marks the first entry after trimmed ones',
    async run({ logs }) {
      const sequences = await appendAll(logs, 'trm.sub', range(10));
      await logs.trim('trm.sub', { before: sequences[5]! });
      for (const after of [0, sequences[2]!, sequences[4]!, sequences[7]!]) {
        const follower = follow(logs, 'trm.sub', after);
        const entries = await follower.take(after === sequences[7] ? 2 : 5);
        gapsMarked(sequences, entries, after);
        await follower.stop();
      }
    },
  },
  {
    name: 'logs: a subscription whose entries are trimmed marks the gap and continues',
    async run({ logs }) {
      for (const stream of ['trm.replay', 'trm.live']) {
        const fill = () => Promise.all(range(3000).map((i) => logs.append(stream, i)));
        const sequences = await appendAll(logs, stream, ['a', 'b', 'c']);
        if (stream === 'trm.replay') sequences.push(...((await fill()) as number[]));
        const follower = follow(logs, stream);
        const entries = await follower.take(3);
        if (stream === 'trm.live') sequences.push(...((await fill()) as number[]));
        const last = Math.max(...sequences);
        await logs.trim(stream, { before: last });
        while (entries.at(-1)!.seq !== last) entries.push(...(await follower.take(1)));
        gapsMarked(sequences, entries, 0);
        ok(entries.length < 3000, 'it holds a bounded number, so not all that were trimmed away');
        const next = await logs.append(stream, 'next');
        same(await follower.take(1), (await logs.read(stream, { after: last })).entries);
        same((await logs.info(stream)).last, next);
        same(await follower.stop(), []);
      }
    },
  },
  {
    name: 'logs: a dropped stream is empty, and its sequence numbers keep increasing',
    async run({ logs }) {
      await logs.drop('trm.drop');
      let last = 0;
      for (let round = 0; round < 4; round++) {
        same(await logs.info('trm.drop'), { first: 0, last: 0, count: 0 });
        same(await logs.read('trm.drop'), { entries: [] });
        const first = await logs.append('trm.drop', { round }, { expectSeq: 0, id: 'same' });
        ok(first !== null && first > last, `${first} follows ${last}`);
        const second = await logs.append('trm.drop', 'more', { expectSeq: first });
        last = second!;
        same(
          (await logs.read('trm.drop')).entries.map((e) => e.data),
          [{ round }, 'more'],
        );
        await logs.drop('trm.drop');
      }
    },
  },
  {
    name: 'logs: sequence numbers increase across a drop, even after a trim and a sweep',
    async run(engine) {
      const { logs } = engine;
      const before = await appendAll(logs, 'trm.grow', range(5));
      await logs.trim('trm.grow', { before: before[4]! });
      await logs.drop('trm.grow');
      await engine.sweep();
      const after = await appendAll(logs, 'trm.grow', ['x']);
      ok(after[0]! > before[4]!, 'larger still');
      same(
        (await logs.read('trm.grow', { after: before[4]! })).entries.map((e) => e.data),
        ['x'],
      );
    },
  },
  {
    name: 'logs: a subscription survives a drop and receives later entries',
    async run({ logs }) {
      await appendAll(logs, 'trm.outlive', ['a', 'b']);
      const follower = follow(logs, 'trm.outlive');
      same(
        (await follower.take(2)).map((e) => e.data),
        ['a', 'b'],
      );
      const waiting = follower.take(2);
      await logs.drop('trm.outlive');
      await appendAll(logs, 'trm.outlive', ['c', 'd']);
      same(
        (await waiting).map((e) => e.data),
        ['c', 'd'],
      );
      await follower.stop();
    },
  },
];
