import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { readText } from '../../src/base/utf8.ts';
import { openSqlite } from '../../src/engines/sqlite/engine.ts';
import type { Engine } from '../../src/kernel/engine.ts';
import { startChild } from './child.ts';
import { temporaryHome } from './home.ts';

const WRITES = 200;

/** Reads the record and the blob twice, because a server may answer the second read from its cache. */
async function readTwice({ records, blobs }: Engine): Promise<{ record: number; blob: number }[]> {
  const looks: { record: number; blob: number }[] = [];
  for (let look = 0; look < 2; look++) {
    const record = await records.get('all.count/1');
    const blob = await blobs.get('all.count/1');
    looks.push({
      record: (record?.value as { n: number } | undefined)?.n ?? Number.NaN,
      blob: blob ? Number(await readText(blob.body)) : Number.NaN,
    });
  }
  return looks;
}

test('a server never returns older data than another process has acknowledged', async (t) => {
  const home = temporaryHome(t);
  await using engine = await openSqlite({ home, role: 'server' });
  const writer = startChild('count-up', { home, to: WRITES });
  for (let n = 1; n <= WRITES; n++) {
    assert.deepEqual(await writer.next(), { n });
    for (const { record, blob } of await readTwice(engine)) {
      // The writer may be ahead: the record is deleted, or at least as new as the acknowledged one.
      assert.ok(Number.isNaN(record) || record >= n, `the record ${n} was there, and ${record} was seen`);
      assert.ok(Number.isNaN(blob) || blob >= n, `the blob ${n} was there, and ${blob} was seen`);
    }
  }
  assert.deepEqual(await writer.next(), { n: 'deleted' });
  assert.deepEqual(await readTwice(engine), Array(2).fill({ record: Number.NaN, blob: Number.NaN }));
  await writer.ended();
});

test('a server sees its own writes and those of other connections at once, even when the WAL starts over', async (t) => {
  const home = temporaryHome(t);
  await using engine = await openSqlite({ home, role: 'server' });
  await using other = await openSqlite({ home });
  using wal = new DatabaseSync(join(home, 'relay.db'));
  for (let n = 1; n <= 20; n++) {
    const writer = n % 2 ? engine : other;
    await writer.records.put('all.count/1', { n });
    await writer.blobs.put('all.count/1', new TextEncoder().encode(String(n)));
    assert.deepEqual(await readTwice(engine), Array(2).fill({ record: n, blob: n }));
    assert.deepEqual(await readTwice(other), Array(2).fill({ record: n, blob: n }));
    if (n % 5 === 0) wal.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  }
});

test('cached data expires on time', async (t) => {
  let now = 1_000_000;
  const env = { now: () => now, randomBytes: (n: number) => new Uint8Array(n) };
  await using engine = await openSqlite({ home: temporaryHome(t), role: 'server', env });
  await engine.records.put('all.brief/1', 1, { expiresAt: now + 10 });
  await engine.blobs.put('all.brief/1', new Uint8Array(3), { expiresAt: now + 10 });
  for (let look = 0; look < 3; look++) {
    assert.ok(await engine.records.get('all.brief/1'));
    assert.ok(await engine.blobs.get('all.brief/1'));
  }
  now += 10;
  assert.equal(await engine.records.get('all.brief/1'), null);
  assert.equal(await engine.blobs.get('all.brief/1'), null);
});

test('a server opens and reads a store while another process holds the write lock', {
  timeout: 20_000,
}, async (t) => {
  const home = temporaryHome(t);
  await using first = await openSqlite({ home });
  await first.records.put('all.kept/1', { a: 1 });
  using stuck = new DatabaseSync(join(home, 'relay.db'));
  stuck.exec('BEGIN IMMEDIATE');
  await using engine = await openSqlite({ home, role: 'server' });
  for (let look = 0; look < 3; look++) {
    assert.deepEqual((await engine.records.get('all.kept/1'))?.value, { a: 1 });
  }
  stuck.exec('ROLLBACK');
});

test('callers cannot modify the data that a server shares between them', async (t) => {
  await using engine = await openSqlite({ home: temporaryHome(t), role: 'server' });
  await engine.records.put('all.shared/1', { list: [1] });
  for (let look = 0; look < 3; look++) {
    const record = (await engine.records.get('all.shared/1'))!;
    assert.deepEqual(record, { value: { list: [1] }, revision: record.revision });
    // The first result belongs to the caller. Later results are shared, so they may be frozen and reject changes.
    const change = () => Object.assign(record, { value: null, revision: 0 });
    if (Object.isFrozen(record.value)) assert.throws(change, TypeError);
  }
});
