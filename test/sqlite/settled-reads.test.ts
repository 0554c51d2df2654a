import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readText } from '../../src/base/read-text.ts';
import { openSqlite } from '../../src/engines/sqlite/engine.ts';
import type { Engine } from '../../src/kernel/engine.ts';
import { startChild } from './child.ts';
import { temporaryHome } from './home.ts';

const WRITES = 200;

/** Asked twice: the second answer is the one that a server may have from its memory. */
async function seen({ records, blobs }: Engine): Promise<{ record: number; blob: number }[]> {
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

test('a server never tells what is older than what another process was told is written', async (t) => {
  const home = temporaryHome(t);
  await using engine = await openSqlite({ home, role: 'server' });
  const writer = startChild('count-up', { home, to: WRITES });
  for (let n = 1; n <= WRITES; n++) {
    assert.deepEqual(await writer.next(), { n });
    for (const { record, blob } of await seen(engine)) {
      // Deleted already, or at least as new.
      assert.ok(Number.isNaN(record) || record >= n, `the record ${n} was there, and ${record} was seen`);
      assert.ok(Number.isNaN(blob) || blob >= n, `the blob ${n} was there, and ${blob} was seen`);
    }
  }
  assert.deepEqual(await writer.next(), { n: 'deleted' });
  assert.deepEqual(await seen(engine), Array(2).fill({ record: Number.NaN, blob: Number.NaN }));
  await writer.ended();
});

test('what a server has in its memory expires on time', async (t) => {
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
