import type { Blobs } from '../../src/kernel/blobs.ts';
import type { Engine } from '../../src/kernel/engine.ts';
import type {
  ExportedBlob,
  ExportedEntry,
  ExportedLog,
  ExportedRecord,
  Moving,
} from '../../src/kernel/moving.ts';
import { ok, refuses, same } from './assert.ts';
import { collect as bodyOf, patterned, sameBytes } from './bodies.ts';
import type { Case } from './case.ts';
import { longestKey } from './keys.ts';
import { follow, readAll } from './streams.ts';

/** A sequence number far above those that a new store reaches during a test. */
const ABOVE = 1_000_000;

const LOG = 'mov.log';
const ENTRIES: readonly ExportedEntry[] = [
  { seq: 12, at: 1_700_000_000_000, data: 'a' },
  { seq: 13, at: 1_700_000_000_001, data: { b: 1 }, id: 'once' },
  { seq: 4711, at: 1_700_000_000_002, data: ['c'] },
  { seq: 999_999, at: 1_700_000_000_003, data: null, id: 'twice' },
];

export const movingCases: readonly Case[] = [
  {
    name: 'moving: imported entries keep their sequence numbers, and later ones are larger',
    async run(engine) {
      const { logs } = engine;
      const moving = await prepared(engine);
      await moving.importEntries({ stream: LOG, trimmed: 0 }, ENTRIES.slice(0, 2));
      await moving.importEntries({ stream: LOG, trimmed: 0 }, ENTRIES.slice(1));
      const expectedEntries = ENTRIES.map(({ id: _, ...entry }) => entry);
      same(await logs.read(LOG), { entries: expectedEntries });
      for (const after of [1, 12, 13, 14, 4710, 4711, 999_998, 999_999, ABOVE])
        same(
          (await logs.read(LOG, { after })).entries,
          expectedEntries.filter(({ seq }) => seq > after),
          `behind ${after}`,
        );
      same((await logs.read(LOG, { after: 12, limit: 1 })).entries, [expectedEntries[1]]);
      same(await logs.info(LOG), { first: 12, last: 999_999, count: 4 });
      const next = (await logs.append(LOG, 'next'))!;
      ok(next > ABOVE, `${next} is above what was imported`);
      same(
        (await logs.read(LOG, { after: 4711 })).entries.map(({ seq }) => seq),
        [999_999, next],
      );
      same((await logs.read(LOG, { after: next })).entries, []);
      const other = (await logs.append('mov.other', 'first'))!;
      ok(other > ABOVE, 'also in a log that was not imported');
    },
  },
  {
    name: 'moving: ids and expectSeq still refer to the same entries after an import',
    async run(engine) {
      const { logs } = engine;
      const moving = await prepared(engine);
      await moving.importEntries({ stream: LOG, trimmed: 0 }, ENTRIES);
      same(await logs.append(LOG, 'again', { id: 'once' }), 13);
      same(await logs.append(LOG, 'again', { id: 'twice', expectSeq: 4711 }), 999_999);
      same(await logs.append(LOG, 'late', { expectSeq: 4711 }), null);
      same(await logs.append(LOG, 'late', { expectSeq: 4711, id: 'new' }), null);
      same(await logs.append(LOG, 'late', { expectSeq: 0 }), null);
      const next = (await logs.append(LOG, 'in time', { expectSeq: 999_999, id: 'new' }))!;
      ok(next > ABOVE, 'larger');
      same(await logs.append(LOG, 'then', { expectSeq: 999_999 }), null);
      ok((await logs.append(LOG, 'then', { expectSeq: next })) !== null, 'expected');
      same((await logs.info(LOG)).count, 6);
    },
  },
  {
    name: 'moving: a subscription replays imported entries and continues live',
    async run(engine) {
      const { logs } = engine;
      const moving = await prepared(engine);
      await moving.importEntries({ stream: LOG, trimmed: 7 }, ENTRIES);
      const [whole, behind] = [follow(logs, LOG), follow(logs, LOG, 13)];
      same(
        (await whole.take(4)).map(({ seq, gap }) => [seq, gap ?? false]),
        ENTRIES.map(({ seq }, i) => [seq, i === 0]),
      );
      same(
        (await behind.take(2)).map(({ seq }) => seq),
        [4711, 999_999],
      );
      const next = await logs.append(LOG, 'next');
      const [first, second] = [await whole.take(1), await behind.take(1)];
      same([first[0]!.seq, second[0]!.seq], [next, next]);
      same([await whole.stop(), await behind.stop()], [[], []]);
    },
  },
  {
    name: 'moving: imported entries can be trimmed and dropped',
    async run(engine) {
      const { logs } = engine;
      const moving = await prepared(engine);
      await moving.importEntries({ stream: LOG, trimmed: 0 }, ENTRIES);
      await logs.trim(LOG, { before: 4711 });
      same(await logs.info(LOG), { first: 4711, last: 999_999, count: 2 });
      same((await logs.read(LOG, { after: 12 })).gap, true);
      same((await logs.read(LOG, { after: 13 })).gap, undefined);
      ok((await logs.append(LOG, 'anew', { id: 'once' }))! > ABOVE, 'its entry is gone, and its id with it');
      await logs.drop(LOG);
      same(await logs.info(LOG), { first: 0, last: 0, count: 0 });
      ok((await logs.append(LOG, 'again', { expectSeq: 0 }))! > ABOVE, 'larger still');
    },
  },
  {
    name: 'moving: imported records keep revision and expiry, and can be replaced and deleted',
    async run(engine, clock) {
      const { records } = engine;
      const moving = await prepared(engine);
      const expiresAt = clock.now() + 60_000;
      const long = longestKey('mov.r/');
      for (const key of ['mov.r/a', 'mov.r/b', long])
        await moving.importRecord({ key, value: { of: key }, revision: 77, expiresAt });
      await moving.importRecord({ key: 'mov.r/count', value: 5, revision: 78 });
      same(await records.get('mov.r/a'), { value: { of: 'mov.r/a' }, revision: 77 });
      same(
        (await records.list('mov.r/')).items.map(({ revision }) => revision),
        [77, 77, 78, 77],
      );
      same(await records.put('mov.r/a', 1, { expect: 76 }), null);
      const next = (await records.put('mov.r/a', 1, { expect: 77 }))!;
      ok(next > ABOVE, `${next} is above what was imported`);
      same(await records.add('mov.r/count', 2), 7);
      same(await records.delete('mov.r/b', { expect: 1 }), false);
      same(await records.delete('mov.r/b', { expect: 77 }), true);
      ok((await records.put('mov.r/b', 2, { expect: 'absent' }))! > next, 'larger across a delete');
      clock.advance(60_001);
      same(await records.get(long), null);
    },
  },
  {
    name: 'moving: imported bodies keep time and expiry, and a body with a wrong hash is rejected',
    async run(engine, clock) {
      const { blobs } = engine;
      const moving = await prepared(engine);
      const [small, large] = [patterned(100), patterned(3_000_000)];
      for (const [key, body] of [
        ['mov.b/small', small],
        ['mov.b/large', large],
      ] as const) {
        const { size, sha256 } = await blobs.put('mov.b/source', body);
        await blobs.delete('mov.b/source');
        const blobInfo = { key, size, sha256, at: 123_456, expiresAt: clock.now() + 1000 };
        await moving.importBlob(blobInfo, body);
        await assertHolds(blobs, key, body);
        await refuses(
          moving.importBlob({ ...blobInfo, key: 'mov.b/bad', sha256: sha256.replace(/./, 'x') }, body),
          'store_damaged',
        );
      }
      same(
        (await blobs.list('mov.b/')).items.map(({ key, at }) => [key, at]),
        [
          ['mov.b/large', 123_456],
          ['mov.b/small', 123_456],
        ],
      );
      clock.advance(1001);
      same((await blobs.list('mov.b/')).items, []);
    },
  },
  {
    name: 'moving: everything is exported as it was imported, even repeatedly',
    async run(engine, clock) {
      const moving = await prepared(engine);
      const { blobs, logs, records, index } = engine;
      const long = longestKey('mov.long/');
      await moving.importEntries({ stream: LOG, trimmed: 3 }, ENTRIES);
      await moving.importEntries({ stream: LOG, trimmed: 3 }, ENTRIES);
      await logs.append(LOG, 'own', { id: 'own' });
      await logs.append(long, 'named', { id: long });
      await moving.importRecord({ key: long, value: [1], revision: 9, expiresAt: clock.now() + 5 });
      await records.put('mov.own/r', { a: null });
      await records.put('mov.own/gone', 1, { expiresAt: clock.now() });
      await blobs.put(long, patterned(10), { expiresAt: clock.now() + 9 });
      await blobs.put('mov.own/b', patterned(400_000));
      await index.put('mov.own/d', 'some words 名前', { f: 1 });
      await index.put('mov.own/d2', 'other words', {});
      await index.remove('mov.own/d2');
      const log = await collect<ExportedLog>(moving.exportLogs(), ({ stream }) => stream);
      const last = (await logs.info(LOG)).last;
      same(log.get(LOG), { stream: LOG, last, count: 5, trimmed: 3 });
      same(await moving.exportLog(LOG), log.get(LOG));
      same(await moving.exportLog('mov.none'), null);
      same([log.size, log.get(long)?.count], [2, 1]);
      const entries = await collect<ExportedEntry>(moving.exportEntries(LOG, 12), ({ seq }) => String(seq));
      same([...entries.values()].slice(0, 3), ENTRIES.slice(1));
      same(entries.get(String(last))?.id, 'own');
      const exported = await collect<ExportedRecord>(moving.exportRecords(), ({ key }) => key);
      same([...exported.keys()].sort(), [long, 'mov.own/r'].sort());
      same(exported.get(long), { key: long, value: [1], revision: 9, expiresAt: clock.now() + 5 });
      same(exported.get('mov.own/r')!.value, { a: null });
      const bodies = await collect<ExportedBlob>(moving.exportBlobs(), ({ key }) => key);
      same(
        [bodies.get(long)!.expiresAt, bodies.get('mov.own/b')!.size, bodies.size],
        [clock.now() + 9, 400_000, 2],
      );
      same(
        [...(await collect(moving.exportDocuments(), ({ key }) => key)).values()],
        [{ key: 'mov.own/d', text: 'some words 名前', fields: { f: 1 } }],
      );
      const large = Math.max(last, ...[...exported.values()].map(({ revision }) => revision));
      ok((await moving.highestNumber()) >= large, 'no number is above the highest');
    },
  },
  {
    name: 'moving: a frozen store can be read but not written, and thaws by itself',
    async run(engine) {
      const { blobs, logs, records, index } = engine;
      const moving = movingOf(engine);
      await logs.append('fro.log', 1);
      await records.put('fro.r/a', 1);
      await blobs.put('fro.b/a', patterned(10));
      same(await moving.moveStatus(), null);
      await moving.freeze({ to: 'elsewhere', ms: 60_000 });
      const writes = [
        () => logs.append('fro.log', 2),
        () => logs.append('fro.log', 2, { id: 'x' }),
        () => logs.drop('fro.log'),
        () => records.put('fro.r/a', 2),
        () => records.put('fro.r/b', 2, { expect: 'absent' }),
        () => records.add('fro.r/n', 2),
        () => records.delete('fro.r/a'),
        () => blobs.put('fro.b/b', patterned(10)),
        () => blobs.delete('fro.b/a'),
        () => index.put('fro.i/a', 'text', {}),
      ];
      for (const write of writes) await refuses(write(), 'store_moving');
      same((await moving.moveStatus())?.to, 'elsewhere');
      same(
        (await readAll(logs, 'fro.log')).map(({ data }) => data),
        [1],
      );
      same((await records.get('fro.r/a'))?.value, 1);
      await assertHolds(blobs, 'fro.b/a', patterned(10));
      await engine.sweep();
      same(await moving.leave({ to: 'somewhere else' }), false, 'it was not frozen for this target');
      same(await moving.leave({ to: 'elsewhere' }), true);
      for (const write of writes) await refuses(write(), 'store_moved');
      same(await moving.moveStatus(), { to: 'elsewhere', ms: null });
      ok(
        (await engine.state()).warnings.some((each) => each.includes('elsewhere')),
        'it says where it is',
      );
      await moving.thaw();
      await logs.append('fro.log', 2);
      await moving.freeze({ to: 'elsewhere', ms: 1 });
      for (let left = 500; (await moving.moveStatus()) !== null && left > 0; left--)
        await records.get('fro.r/a');
      same(await moving.leave({ to: 'elsewhere' }), false, 'that time is over');
      await records.put('fro.r/a', 3);
      same(
        (await readAll(logs, 'fro.log')).map(({ data }) => data),
        [1, 2],
      );
    },
  },
];

function movingOf({ moving }: Engine): Moving {
  ok(moving, 'it cannot be moved');
  return moving;
}

async function prepared(engine: Engine): Promise<Moving> {
  const moving = movingOf(engine);
  await moving.prepare(ABOVE);
  await moving.prepare(ABOVE);
  return moving;
}

async function collect<T>(items: AsyncIterable<T>, nameOf: (item: T) => string): Promise<Map<string, T>> {
  const byName = new Map<string, T>();
  for await (const item of items) {
    ok(!byName.has(nameOf(item)), `${nameOf(item)} comes twice`);
    byName.set(nameOf(item), item);
  }
  return byName;
}

async function assertHolds(blobs: Blobs, key: string, body: Uint8Array): Promise<void> {
  const blob = await blobs.get(key);
  ok(blob, `${key} is there`);
  sameBytes(await bodyOf(blob.body), body, key);
}
