import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { openMemory } from '../../src/engines/memory/engine.ts';
import { type BucketEngine, withBucket } from '../../src/engines/s3/engine.ts';
import { readStub, writeStub } from '../../src/engines/s3/stub.ts';
import { relay, temporaryHome } from '../cli/program.ts';
import { collect, patterned, sameBytes, sha256, streamOf } from '../conformance/bodies.ts';
import { manualClock } from '../conformance/case.ts';
import { type Faults, startFaults } from './faults.ts';
import { findS3Server, type S3Server, startS3Server } from './server.ts';

const s3Server = await findS3Server();
const MiB = 1024 * 1024;
const HOUR = 3_600_000;
/**
 * Minimum age in ms with which a sweep deletes every orphan. It is negative, because the rounded age of a new object
 * may be negative.
 */
const ANY_AGE = -2_000;
const out = { code: 'bucket_unavailable', status: 503 };

describe('blobs in S3', { skip: 'missing' in s3Server && s3Server.missing }, () => {
  let server: S3Server;
  let faults: Faults;
  before(async () => {
    server = await startS3Server();
    faults = await startFaults(server.endpoint, 0);
  });
  after(async () => {
    await faults[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });
  const address = (prefix: string) => `s3://${server.bucket}/${prefix}?endpoint=${faults.endpoint}`;
  const open = async (
    prefix: string,
    o: { orphanMs?: number; clock?: ReturnType<typeof manualClock> } = {},
  ) => {
    const inner = openMemory({ env: o.clock?.env });
    const where = { address: address(prefix), env: server.env, tries: 2, pauseMs: 1, orphanMs: o.orphanMs };
    return { inner, engine: (await withBucket(inner, where)) as BucketEngine & typeof inner };
  };
  const namesIn = async (prefix: string) =>
    [...(await server.list(`list-type=2&prefix=${prefix}/`)).matchAll(/<Key>(.*?)<\/Key>/g)].map(
      ([, name]) => name!,
    );

  test('a payload above 1 MiB is stored in the bucket, a smaller one in the engine', async () => {
    const { engine, inner } = await open('sizes');
    await engine.blobs.put('a/small', patterned(MiB));
    await engine.blobs.put('a/large', patterned(MiB + 1));
    await engine.blobs.put('a/streamed', streamOf(patterned(MiB + 1)));
    assert.equal((await namesIn('sizes')).length, 2);
    assert.equal((await inner.blobs.get('a/small'))!.size, MiB);
    assert.ok((await inner.blobs.get('a/large'))!.size < 6000);
    assert.equal((await engine.usage()).bucket?.bytes, 2 * (MiB + 1));
  });

  test('a multipart payload is stored and read despite faults, and a failed one leaves no upload', async () => {
    await using worse = await startFaults(server.endpoint, 2);
    const where = { address: `s3://${server.bucket}/parts?endpoint=${worse.endpoint}`, env: server.env };
    const engine = await withBucket(openMemory(), { ...where, tries: 8, pauseMs: 1, orphanMs: ANY_AGE });
    const bytes = patterned(17 * MiB);
    const info = await engine.blobs.put('a/parts', streamOf(bytes, { piece: 300_007 }));
    assert.deepEqual(info, { size: bytes.length, sha256: await sha256(bytes) });
    for (let i = 0; i < 3; i++) sameBytes(await collect((await engine.blobs.get('a/parts'))!.body), bytes);
    const part = { start: 9 * MiB - 3, end: 16 * MiB + 5 };
    sameBytes(
      await collect((await engine.blobs.get('a/parts', part))!.body),
      bytes.slice(part.start, part.end),
    );
    await assert.rejects(engine.blobs.put('a/failed', streamOf(bytes, { failAt: 200 })));
    // The sweep also removes uploads whose start succeeded, but whose response was lost.
    await engine.sweep();
    assert.doesNotMatch(await server.list('uploads&prefix=parts/'), /<UploadId>/);
    assert.deepEqual(
      Object.values(worse.happened).map((times) => times > 0),
      [true, true, true, true],
    );
  });

  test('an outage causes a 503 for payloads in the bucket and for nothing else', async () => {
    const { engine } = await open('outage');
    await engine.blobs.put('a/small', patterned(1000));
    await engine.blobs.put('a/large', patterned(2 * MiB));
    faults.isOut = true;
    try {
      await assert.rejects(engine.blobs.get('a/large'), out);
      await assert.rejects(engine.blobs.put('a/more', patterned(2 * MiB)), out);
      assert.equal(await engine.blobs.get('a/more'), null);
      await engine.blobs.put('a/less', patterned(2000));
      sameBytes(await collect((await engine.blobs.get('a/small'))!.body), patterned(1000));
      const { items } = await engine.blobs.list('a/');
      assert.deepEqual(
        items.map(({ size }) => size),
        [2 * MiB, 2000, 1000],
      );
      await engine.sweep();
      assert.equal((await engine.usage()).bucket?.bytes, null);
      assert.match((await engine.state()).warnings.join(), /s3:\/\/bodies cannot be used.*it answered 500/);
      await engine.blobs.delete('a/large');
    } finally {
      faults.isOut = false;
    }
    await engine.blobs.put('a/more', patterned(2 * MiB));
    assert.deepEqual((await engine.state()).warnings, []);
  });

  test('a sweep deletes old objects without a stub, and no objects of other stores', async () => {
    const clock = manualClock();
    const [young, old, other] = [
      await open('swept', { clock }),
      await open('swept', { clock, orphanMs: ANY_AGE }),
      await open('swept'),
    ];
    for (const { engine } of [young, old, other])
      for (const key of ['a/kept', 'a/deleted', 'a/replaced', 'a/expired'])
        await engine.blobs.put(
          key,
          patterned(2 * MiB),
          key === 'a/expired' ? { expiresAt: clock.now() + 1000 } : {},
        );
    clock.advance(1000);
    for (const { engine } of [young, old]) {
      await engine.blobs.delete('a/deleted');
      await engine.blobs.put('a/replaced', patterned(10));
    }
    assert.equal((await young.engine.sweep()).waiting?.count, 3);
    assert.equal((await namesIn('swept')).length, 12);
    assert.ok((await old.engine.sweep()).bytes >= 6 * MiB);
    assert.equal((await namesIn('swept')).length, 9);
    sameBytes(await collect((await old.engine.blobs.get('a/kept'))!.body), patterned(2 * MiB));
    await old.engine.blobs.delete('a/kept');
    await old.engine.sweep();
    assert.equal((await namesIn('swept')).length, 9, 'not again within the hour');
    clock.advance(HOUR);
    await old.engine.sweep();
    assert.equal((await namesIn('swept')).length, 8);
  });

  test('the bytes in the bucket are counted once an hour, plus uploads since then', async () => {
    const clock = manualClock();
    const { engine } = await open('counted', { clock });
    const before = faults.listings;
    const usageAndListings = async () => [(await engine.usage()).bucket?.bytes, faults.listings - before];
    await engine.blobs.put('a/one', patterned(2 * MiB));
    assert.deepEqual(await usageAndListings(), [2 * MiB, 1]);
    await engine.blobs.put('a/two', patterned(3 * MiB));
    assert.deepEqual(await usageAndListings(), [5 * MiB, 1]);
    clock.advance(HOUR);
    assert.deepEqual(await usageAndListings(), [5 * MiB, 2]);
    clock.advance(HOUR);
    await engine.sweep();
    assert.deepEqual(await usageAndListings(), [5 * MiB, 3], 'what a sweep has listed is not listed again');
  });

  test('a store stays empty until its first object, and processes that opened it before read the object', async () => {
    const { engine, inner } = await open('begun');
    const other = await withBucket(inner, { address: null, env: server.env });
    const rival = await withBucket(inner, { address: address('begun'), env: server.env });
    await engine.sweep();
    assert.deepEqual([(await engine.usage()).records, (await other.usage()).bucket], [0, undefined]);
    await engine.blobs.put('a/large', patterned(2 * MiB));
    await rival.blobs.put('a/rival', patterned(3 * MiB));
    const ids = new Set((await namesIn('begun')).map((name) => name.split('/')[1]));
    assert.equal(ids.size, 1, 'both use the id of the first');
    for (const each of [engine, other, rival]) {
      sameBytes(await collect((await each.blobs.get('a/large'))!.body), patterned(2 * MiB));
      sameBytes(await collect((await each.blobs.get('a/rival'))!.body), patterned(3 * MiB));
    }
  });

  test('a payload that looks like a stub is an ordinary payload', async () => {
    const { engine, inner } = await open('looks');
    await engine.blobs.put('a/large', patterned(2 * MiB));
    const { id } = (await inner.records.get('sys/bucket'))!.value as { id: string };
    const stub = (await engine.blobs.stub('a/large'))!;
    const forged = writeStub(id, stub);
    assert.deepEqual(readStub(id, forged), stub);
    for (const body of [forged, streamOf(forged)]) {
      await engine.blobs.put('a/forged', body);
      sameBytes(await collect((await engine.blobs.get('a/forged'))!.body), forged);
    }
  });

  test('push, pull, du, doctor --deep and backup use the bucket, and the backup works without it', async () => {
    using place = temporaryHome();
    const { home } = place;
    const env = { ...server.env, RELAY_BLOBS: address('cli') };
    const bytes = randomBytes(3 * MiB);
    const succeed = async (
      args: string[],
      o: { env?: { [name: string]: string }; stdin?: Uint8Array } = {},
    ) => {
      const ran = await relay(args, { home, env, ...o });
      assert.equal(ran.code, 0, ran.stderr + ran.stdout);
      return ran;
    };
    const { url, id } = JSON.parse((await succeed(['push', '--json'], { stdin: bytes })).stdout);
    const [name] = await namesIn('cli');
    assert.ok(name);
    // The store has recorded its bucket by now, so RELAY_BLOBS is no longer needed.
    assert.deepEqual((await succeed(['pull', url], { env: server.env })).bytes, bytes);
    assert.match((await succeed(['du'])).stdout, /in the bucket +3 MiB in s3:\/\/bodies/);
    await succeed(['doctor', '--deep']);
    const without = await relay(['pull', url], { home });
    assert.deepEqual(
      [without.code === 0, /AWS_ACCESS_KEY_ID/.test(without.stderr)],
      [false, true],
      without.stderr,
    );

    const copy = join(home, 'copy');
    await succeed(['backup', copy]);
    await server.flip(name, 100);
    const deep = await relay(['doctor', '--deep', '--json'], { home, env });
    const { damaged } = JSON.parse(deep.stdout);
    assert.deepEqual(
      [deep.code, damaged.length, damaged[0].fault, damaged[0].refers],
      [1, 1, 'altered', `pointer ${id}`],
    );
    assert.deepEqual((await succeed(['--home', copy, 'pull', url], { env: {} })).bytes, bytes);
  });
});
