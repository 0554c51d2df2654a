import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { manualClock } from '../../../test/conformance/case.ts';
import { sizeOf, temporaryHome } from '../../../test/sqlite/home.ts';
import { backupSqlite } from './backup.ts';
import { openSqlite } from './engine.ts';

const COUNT = 40;

function bytes(i: number): Uint8Array {
  return new Uint8Array(140_000).fill(i);
}

/** Starts a server whose closed segments have lost three of four bodies. */
async function wipedSegments(t: TestContext) {
  const home = temporaryHome(t);
  const clock = manualClock();
  const engine = await openSqlite({ home, role: 'server', env: clock.env, durability: 'process' });
  const expiresAt = clock.now() + 3_600_000;
  for (let i = 0; i < COUNT; i++) {
    await engine.blobs.put(`com.a/${i}`, bytes(i), i % 8 === 0 ? { expiresAt } : {});
  }
  for (let i = 0; i < COUNT; i++) if (i % 4 !== 0) await engine.blobs.delete(`com.a/${i}`);
  clock.advance(11 * 60_000);
  return { home, engine, clock };
}

test('a sweep moves the bodies out of mostly empty segments and frees their space', async (t) => {
  const { home, engine, clock } = await wipedSegments(t);
  assert.equal(sizeOf(join(home, 'blobs')), COUNT * 140_000);
  await engine.sweep();
  assert.equal(sizeOf(join(home, 'blobs')), (COUNT / 4) * 140_000);
  for (let i = 0; i < COUNT; i += 4) assert.deepEqual((await engine.blobs.get(`com.a/${i}`))?.body, bytes(i));
  // Let half of the bodies expire. They are in separate segments, so the sweep frees their space without moving bodies.
  clock.advance(60 * 60_000);
  await engine.sweep();
  assert.equal(sizeOf(join(home, 'blobs')), (COUNT / 8) * 140_000);
  await engine[Symbol.asyncDispose]();
});

test('a later sweep moves the bodies of a segment that was wiped while it was still being filled', async (t) => {
  const home = temporaryHome(t);
  const clock = manualClock();
  const engine = await openSqlite({ home, role: 'server', env: clock.env, durability: 'process' });
  await engine.sweep();
  for (let i = 0; i < COUNT; i++) await engine.blobs.put(`com.b/${i}`, bytes(i));
  for (let i = 1; i < COUNT; i++) await engine.blobs.delete(`com.b/${i}`);
  await engine.sweep();
  assert.equal(sizeOf(join(home, 'blobs')), COUNT * 140_000, 'more may come into it');
  clock.advance(11 * 60_000);
  await engine.sweep();
  assert.equal(sizeOf(join(home, 'blobs')), 140_000);
  assert.deepEqual((await engine.blobs.get('com.b/0'))?.body, bytes(0));
  await engine[Symbol.asyncDispose]();
});

test('a body stays intact if it is read, replaced, deleted or backed up during compaction', async (t) => {
  const { home, engine, clock } = await wipedSegments(t);
  const open = (at: string) => openSqlite({ home: at, env: clock.env, durability: 'process' });
  const other = await open(home);
  const target = join(temporaryHome(t), 'backup');
  const sweeping = [engine.sweep(), other.sweep(), backupSqlite(home, target)] as const;
  await Promise.all(
    Array.from({ length: COUNT / 4 }, async (_, n) => {
      const key = `com.a/${n * 4}`;
      for (let round = 0; round < 5; round++) {
        assert.deepEqual((await other.blobs.get(key))?.body, bytes(n * 4), key);
        await other.records.put('com.a/any', round);
      }
      if (n % 3 === 1) await other.blobs.delete(key);
      if (n % 3 === 2) await engine.blobs.put(key, bytes(100 + n));
    }),
  );
  const [, , { lost }] = await Promise.all(sweeping);
  assert.deepEqual(lost, []);
  const copy = await open(target);
  for (let n = 0; n < COUNT / 4; n++) {
    const key = `com.a/${n * 4}`;
    const left = [bytes(n * 4), undefined, bytes(100 + n)][n % 3];
    for (const store of [engine, other]) assert.deepEqual((await store.blobs.get(key))?.body, left, key);
    // A backup may lack bodies that were deleted or replaced while it ran.
    const copied = (await copy.blobs.get(key))?.body;
    if (n % 3 === 0 || copied)
      assert.deepEqual(copied, (copied as Uint8Array)[0] === n * 4 ? bytes(n * 4) : left, key);
  }
  for (const store of [engine, other, copy]) await store[Symbol.asyncDispose]();
});
