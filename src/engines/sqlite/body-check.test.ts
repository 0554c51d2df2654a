import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { damageBody } from '../../../test/sqlite/damage.ts';
import { filesIn, temporaryHome } from '../../../test/sqlite/home.ts';
import { until } from '../../../test/until.ts';
import { openSqlite } from './engine.ts';

const SIZES = [100, 50_000, 2_000_000, 3_000_000];

test('a server verifies its bodies in the background, a few megabytes at a time, and counts the damaged ones', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const home = temporaryHome(t);
  const engine = await openSqlite({ home, role: 'server', durability: 'process' });
  for (const [i, size] of SIZES.entries()) await engine.blobs.put(`scr.a/${i}`, Buffer.alloc(size, `${i}`));
  assert.deepEqual(engine.scrubState(), { bodies: 0, bytes: 0, rounds: 0, damaged: 0 });
  /**
   * Runs steps until `times` more passes over all bodies are complete. The default is 2, because the first pass may
   * already be under way.
   */
  const round = async (times = 2) => {
    const { rounds } = engine.scrubState()!;
    await until(() => {
      t.mock.timers.tick(5_000);
      return engine.scrubState()!.rounds >= rounds + times;
    });
    return engine.scrubState()!;
  };
  const first = await round(1);
  assert.deepEqual([first.bodies, first.bytes, first.damaged], [4, 5_050_100, 0]);
  for (const i of [0, 1, 3]) damageBody(home, `scr.a/${i}`, 10);
  assert.equal((await round()).damaged, 3);
  await engine.blobs.delete('scr.a/0');
  damageBody(home, 'scr.a/1', 10);
  assert.equal((await round()).damaged, 1, 'one was deleted, another is intact again');
  await engine.blobs.delete('scr.a/3');
  assert.equal((await round()).damaged, 0);
  await engine[Symbol.asyncDispose]();
});

test('checkBodies continues after a damaged body and reports the fault of each', async (t) => {
  const home = temporaryHome(t);
  const engine = await openSqlite({ home, durability: 'process' });
  for (const [i, size] of SIZES.entries()) await engine.blobs.put(`scr.b/${i}`, Buffer.alloc(size, `${i}`));
  damageBody(home, 'scr.b/0', 99);
  damageBody(home, 'scr.b/2', 1_999_999);
  const files = filesIn(home).filter((path) => /^blobs\/[0-9a-f]{2}\//.test(path));
  const found = await Array.fromAsync(engine.checkBodies(), ({ key, fault }) => [key, fault]);
  assert.deepEqual(found, [
    ['scr.b/0', 'altered'],
    ['scr.b/1', null],
    ['scr.b/2', 'altered'],
    ['scr.b/3', null],
  ]);
  for (const file of files) rmSync(join(home, file));
  const faults = await Array.fromAsync(engine.checkBodies(), ({ fault }) => fault);
  assert.deepEqual(faults, ['altered', null, 'missing', 'missing']);
  assert.equal(await engine.checkDatabase(), null);
  await engine[Symbol.asyncDispose]();
});
