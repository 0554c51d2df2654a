import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openSqlite } from '../../src/engines/sqlite/engine.ts';
import type { Engine } from '../../src/kernel/engine.ts';
import { manualClock } from '../conformance/case.ts';
import { until } from '../until.ts';
import { filesIn, temporaryHome } from './home.ts';

const CANARY = 'canary-3f9c1b-that-nobody-else-has';

/**
 * Sizes of the test bodies. A server stores them in a row, a segment and a file; a CLI process also uses
 * rows.
 */
const SIZES = { 'a row': 3000, 'many pages': 100_000, 'a large body': 2_000_000 };

function body(size: number): Buffer {
  return Buffer.alloc(size, CANARY);
}

/** Returns whether any file of the store contains the canary: bodies, database, free pages, WAL. */
function containsCanary(home: string): boolean {
  return filesIn(home).some((path) => readFileSync(join(home, path)).includes(CANARY));
}

async function neighbours(engine: Engine, n: number): Promise<void> {
  await Promise.all(
    Array.from({ length: 8 }, (_, i) => engine.blobs.put(`near.${n}/${i}`, new Uint8Array(50_000).fill(i))),
  );
}

async function assertNeighbours(engine: Engine): Promise<void> {
  for (const n of [1, 2])
    for (let i = 0; i < 8; i++) {
      const blob = await engine.blobs.get(`near.${n}/${i}`);
      assert.deepEqual(blob?.body, new Uint8Array(50_000).fill(i));
    }
}

const WAYS: Record<string, (engine: Engine, t: TestContext) => Promise<void>> = {
  deleted: (engine) => engine.blobs.delete('can.a/1'),
  replaced: async (engine) => {
    await engine.blobs.put('can.a/1', Buffer.from('something else'));
  },
};

for (const role of ['cli', 'server'] as const) {
  for (const [way, takeAway] of Object.entries(WAYS)) {
    for (const [kind, size] of Object.entries(SIZES)) {
      test(`data that was ${way} soon disappears from all files of the store (${role}, ${kind})`, async (t) => {
        t.mock.timers.enable({ apis: ['setInterval'] });
        const home = temporaryHome(t);
        const engine = await openSqlite({ home, role });
        await neighbours(engine, 1);
        await engine.blobs.put('can.a/1', body(size));
        await neighbours(engine, 2);
        assert.ok(containsCanary(home));
        await takeAway(engine, t);
        t.mock.timers.tick(30_000);
        await until(() => !containsCanary(home));
        await assertNeighbours(engine);
        await engine[Symbol.asyncDispose]();
        assert.ok(!containsCanary(home));
      });
    }
  }

  test(`expired data is in no file of the store after a sweep (${role})`, async (t) => {
    const home = temporaryHome(t);
    const clock = manualClock();
    const engine = await openSqlite({ home, role, env: clock.env });
    await neighbours(engine, 1);
    const expiresAt = clock.now() + 1000;
    for (const size of Object.values(SIZES))
      await engine.blobs.put(`can.${size}/1`, body(size), { expiresAt });
    // This body expires later, so that the segment for expiring bodies is still in use.
    await engine.blobs.put('can.b/1', new Uint8Array(300_000), { expiresAt: expiresAt + 1000 });
    await engine.records.put('can.c/1', CANARY, { expiresAt });
    await neighbours(engine, 2);
    clock.advance(1000);
    await engine.sweep();
    assert.ok(!containsCanary(home));
    await assertNeighbours(engine);
    assert.ok(await engine.blobs.get('can.b/1'));
    await engine[Symbol.asyncDispose]();
  });
}

test('data that a CLI process deletes while a server runs soon disappears from all files of the store', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const home = temporaryHome(t);
  const server = await openSqlite({ home, role: 'server' });
  await server.blobs.put('can.a/1', body(50_000));
  await neighbours(server, 1);
  await neighbours(server, 2);
  const command = await openSqlite({ home });
  await command.blobs.put('can.a/2', body(50_000));
  await command.blobs.delete('can.a/1');
  await command.blobs.delete('can.a/2');
  assert.ok(containsCanary(home), 'the CLI process has not wiped it yet');
  t.mock.timers.tick(30_000);
  await until(() => !containsCanary(home));
  await command[Symbol.asyncDispose]();
  await assertNeighbours(server);
  await server[Symbol.asyncDispose]();
});
