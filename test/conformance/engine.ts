import { ok, same } from './assert.ts';
import { patterned, streamOf } from './bodies.ts';
import type { Case } from './case.ts';
import { range } from './keys.ts';
import { appendAll } from './streams.ts';

export const engineCases: readonly Case[] = [
  {
    name: 'engine: its limits allow what the relay stores',
    async run({ limits }) {
      ok(limits.recordBytes >= 64 * 1024, 'a record holds metadata of 16 KiB, escaped');
      ok(limits.entryBytes >= 64 * 1024, 'an entry holds an envelope of 16 KiB, escaped');
      ok(limits.blobBytes >= 50 * 1024 * 1024, 'a blob holds an artifact');
      ok(['none', 'process', 'power', 'quorum'].includes(limits.durability), 'durability is a known word');
    },
  },
  {
    name: 'engine: its clock decides expiry and entry times',
    async run(engine, clock) {
      const { blobs, records, logs } = engine;
      const now = engine.now();
      ok(Number.isSafeInteger(now), 'milliseconds since the epoch');
      await records.put('eng.time/1', 1, { expiresAt: now + 1 });
      await blobs.put('eng.time/1', patterned(10), { expiresAt: now + 1 });
      await logs.append('eng.time', 1);
      same((await records.get('eng.time/1'))?.value, 1);
      same((await blobs.get('eng.time/1'))?.size, 10);
      same((await logs.read('eng.time')).entries[0]?.at, now);
      clock.advance(1);
      same(engine.now(), now + 1);
      same(await records.get('eng.time/1'), null);
      same(await blobs.get('eng.time/1'), null);
    },
  },
  {
    name: 'engine: deferred work runs at its time or when the engine is closed, and its errors are ignored',
    async run(engine) {
      const { records } = engine;
      const done: string[] = [];
      const work = (name: string) => async () => {
        await records.put(`eng.defer/${name}`, 1);
        done.push(name);
      };
      engine.defer(() => Promise.reject(new Error('nobody waits for this')));
      engine.defer(() => {
        throw new Error('nor for this');
      });
      await new Promise<void>((resolve) => engine.defer(() => work('now')().then(resolve)));
      await new Promise<void>((resolve) => engine.defer(() => work('soon')().then(resolve), 5));
      same(done, ['now', 'soon']);
      same((await records.list('eng.defer/')).items.length, 2);
      const HOUR = 3_600_000;
      engine.defer(async () => engine.defer(work('at last'), HOUR), HOUR);
      engine.defer(work('late'), HOUR);
      same(done.length, 2, 'not before its time');
      await engine[Symbol.asyncDispose]();
      same(done.toSorted(), ['at last', 'late', 'now', 'soon']);
      await engine[Symbol.asyncDispose]();
    },
  },
  {
    name: 'engine: usage counts the stored data and decreases when it is deleted',
    async run(engine) {
      const { blobs, records, logs } = engine;
      const before = await engine.usage();
      await blobs.put('eng.use/small', patterned(1000));
      await blobs.put('eng.use/large', streamOf(patterned(200_000)));
      for (const i of range(5)) await records.put(`eng.use/${i}`, i);
      await records.add('eng.use/counter', 1);
      const sequences = await appendAll(logs, 'eng.use', range(7));
      const filled = await engine.usage();
      same(filled.blobs.count - before.blobs.count, 2);
      same(filled.blobs.bytes - before.blobs.bytes, 201_000);
      same(filled.records - before.records, 6);
      same(filled.entries - before.entries, 7);
      ok(filled.diskBytes >= 0, 'disk is not negative');
      await blobs.put('eng.use/large', patterned(10));
      await blobs.delete('eng.use/small');
      await records.put('eng.use/0', 'again');
      await records.delete('eng.use/1');
      await logs.trim('eng.use', { before: sequences[3]! });
      const less = await engine.usage();
      same(less.blobs.count - before.blobs.count, 1);
      same(less.blobs.bytes - before.blobs.bytes, 10);
      same(less.records - before.records, 5);
      same(less.entries - before.entries, 4);
      await logs.drop('eng.use');
      same((await engine.usage()).entries - before.entries, 0);
    },
  },
  {
    name: 'engine: a sweep deletes expired data, reports how much, and keeps the rest',
    async run(engine, clock) {
      const { blobs, records } = engine;
      await engine.sweep();
      const before = await engine.usage();
      const expiresAt = clock.now() + 60_000;
      await blobs.put('eng.sweep/small', patterned(1000), { expiresAt });
      await blobs.put('eng.sweep/large', streamOf(patterned(300_000)), { expiresAt });
      await blobs.put('eng.sweep/kept', patterned(400_000), { expiresAt: expiresAt + 1 });
      await records.put('eng.sweep/1', 1, { expiresAt });
      await records.add('eng.sweep/2', 1, { expiresAt });
      await records.put('eng.sweep/kept', 1);
      same(await engine.sweep(), { blobs: 0, records: 0, bytes: 0 }, 'nothing has expired yet');
      clock.advance(60_000);
      const swept = await engine.sweep();
      same([swept.blobs, swept.records], [2, 2]);
      ok(swept.bytes >= 301_000, `at least the bodies: ${swept.bytes}`);
      const after = await engine.usage();
      same(after.blobs.count - before.blobs.count, 1);
      same(after.blobs.bytes - before.blobs.bytes, 400_000);
      same(after.records - before.records, 1);
      same(await engine.sweep(), { blobs: 0, records: 0, bytes: 0 }, 'a second time');
      same((await blobs.get('eng.sweep/kept'))?.size, 400_000);
      same((await records.get('eng.sweep/kept'))?.value, 1);
    },
  },
  {
    name: 'engine: a sweep may run at any time, with concurrent writers and sweeps',
    async run(engine, clock) {
      const { blobs, records, logs } = engine;
      for (const i of range(20)) {
        await records.put(`eng.any/${i}`, 'old', { expiresAt: clock.now() + 60_000 });
        await blobs.put(`eng.any/${i}`, patterned(100), { expiresAt: clock.now() + 60_000 });
      }
      clock.advance(60_000);
      await Promise.all([
        engine.sweep(),
        ...range(20).map((i) => records.put(`eng.any/${i}`, 'new', { expect: 'absent' })),
        engine.sweep(),
        ...range(20).map((i) => blobs.put(`eng.any/${i}`, streamOf(patterned(200_000, i + 1)))),
        ...range(20).map((i) => logs.append('eng.any', i)),
        engine.sweep(),
      ]);
      await engine.sweep();
      const values = (await records.list('eng.any/')).items.map((i) => i.value);
      same(values, Array(20).fill('new'));
      same(
        (await blobs.list('eng.any/')).items.map((i) => i.size),
        Array(20).fill(200_000),
      );
      same((await logs.info('eng.any')).count, 20);
    },
  },
  {
    name: 'engine: the same name in different ports means different items',
    async run({ blobs, records, logs, index }) {
      const name = 'eng.own/x';
      await records.put(name, 'record');
      await blobs.put(name, patterned(10));
      await logs.append(name, 'entry');
      await index.put(name, 'word', {});
      await records.delete(name);
      same((await blobs.get(name))?.size, 10);
      await blobs.delete(name);
      same((await logs.info(name)).count, 1);
      await logs.drop(name);
      same((await index.search('eng.own/', 'word')).length, 1);
    },
  },
];
