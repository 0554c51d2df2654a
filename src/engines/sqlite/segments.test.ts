import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { manualClock } from '../../../test/conformance/case.ts';
import { filesIn, temporaryHome } from '../../../test/sqlite/home.ts';
import { SEGMENT_BLOB_BYTES } from '../../base/limits.ts';
import type { Engine } from '../../kernel/engine.ts';
import { openSqlite } from './engine.ts';

const { min, max } = SEGMENT_BLOB_BYTES;

function segments(home: string): string[] {
  return filesIn(home).filter((path) => path.startsWith('blobs/segments/'));
}

/** Returns a body that is too large for a row, so it is stored in a segment. */
function bytes(i: number, size = 140_000): Uint8Array {
  return new Uint8Array(size).fill(i);
}

async function assertBody(engine: Engine, key: string, expected: Uint8Array): Promise<void> {
  assert.deepEqual((await engine.blobs.get(key))?.body, expected, key);
}

test('a server stores medium-sized bodies in one segment, and ranges of them can be read', async (t) => {
  const home = temporaryHome(t);
  const engine = await openSqlite({ home, role: 'server' });
  const sizes = [min - 1, 200_000, 300_000, max, max + 1];
  await Promise.all(sizes.map((size, i) => engine.blobs.put(`seg.a/${size}`, bytes(i + 1, size))));
  await engine.blobs.put('seg.a/stream', new Blob([new Uint8Array(140_000).fill(9)]).stream());
  const [segment, ...others] = segments(home);
  assert.deepEqual(others, []);
  assert.equal(readFileSync(join(home, segment!)).length, 200_000 + 300_000 + max + 140_000);
  for (const [i, size] of sizes.entries()) {
    const { body } = (await engine.blobs.get(`seg.a/${size}`))!;
    const found = new Uint8Array(await new Response(body as BodyInit).arrayBuffer());
    assert.deepEqual(found, bytes(i + 1, size));
  }
  const part = await engine.blobs.get('seg.a/stream', { start: 139_000, end: 139_010 });
  assert.deepEqual(part, { size: 140_000, body: bytes(9, 10) });
  await engine[Symbol.asyncDispose]();
});

test('a server stores a single body in its row, and concurrent bodies in a segment', async (t) => {
  const home = temporaryHome(t);
  const engine = await openSqlite({ home, role: 'server' });
  await engine.blobs.put('seg.a/1', bytes(1, 20_000));
  assert.deepEqual(segments(home), []);
  await Promise.all([
    engine.blobs.put('seg.a/2', bytes(2)),
    engine.blobs.put('seg.a/3', bytes(3, 20_000)),
    engine.blobs.put('seg.a/4', bytes(4, min - 1)),
  ]);
  const [segment] = segments(home);
  assert.equal(readFileSync(join(home, segment!)).length, 160_000);
  for (const [i, size] of [20_000, 140_000, 20_000, min - 1].entries())
    await assertBody(engine, `seg.a/${i + 1}`, bytes(i + 1, size));
  await engine[Symbol.asyncDispose]();
});

test('a CLI process stores bodies in the database', async (t) => {
  const home = temporaryHome(t);
  const engine = await openSqlite({ home, role: 'cli' });
  await engine.blobs.put('seg.a/1', bytes(1, 100_000));
  assert.deepEqual(segments(home), []);
  await engine[Symbol.asyncDispose]();
});

test('bodies with and without expiry use different segments, and each segment is filled for a limited time', async (t) => {
  const home = temporaryHome(t);
  const clock = manualClock();
  const engine = await openSqlite({ home, role: 'server', env: clock.env });
  const put = (i: number, expiresAt?: number) => engine.blobs.put(`seg.a/${i}`, bytes(i), { expiresAt });
  await put(1);
  await put(2, clock.now() + 3_600_000);
  assert.equal(segments(home).length, 2);
  clock.advance(11 * 60_000);
  await put(3);
  await put(4, clock.now() + 3_600_000);
  assert.equal(segments(home).length, 4);
  await engine[Symbol.asyncDispose]();
});

test('a torn tail is harmless, and a truncated or missing body is reported as damaged', async (t) => {
  const home = temporaryHome(t);
  const first = await openSqlite({ home, role: 'server' });
  for (const i of [1, 2, 3]) await first.blobs.put(`seg.a/${i}`, bytes(i));
  await first[Symbol.asyncDispose]();
  const [segment] = segments(home);
  appendFileSync(join(home, segment!), 'half of a body that was never acknowledged');
  const second = await openSqlite({ home, role: 'server' });
  for (const i of [4, 5]) await second.blobs.put(`seg.a/${i}`, bytes(i));
  await second.sweep();
  for (const i of [1, 2, 3, 4, 5]) await assertBody(second, `seg.a/${i}`, bytes(i));
  await second[Symbol.asyncDispose]();

  truncateSync(join(home, segment!), 3 * 140_000 - 1);
  const engine = await openSqlite({ home, role: 'server' });
  await assert.rejects(engine.blobs.get('seg.a/3'), { code: 'store_damaged' });
  for (const i of [2, 4]) await assertBody(engine, `seg.a/${i}`, bytes(i));
  rmSync(join(home, segment!));
  await assert.rejects(engine.blobs.get('seg.a/1'), { code: 'store_damaged' });
  await engine.blobs.put('seg.a/1', bytes(7));
  await assertBody(engine, 'seg.a/1', bytes(7));
  await engine[Symbol.asyncDispose]();
});

test('a push succeeds even if a sweep of another process deletes its segment meanwhile', async (t) => {
  const home = temporaryHome(t);
  const server = await openSqlite({ home, role: 'server' });
  const sweeper = await openSqlite({ home });
  let done = false;
  const sweeping = (async () => {
    while (!done) await sweeper.sweep();
  })();
  for (let i = 0; i < 25; i++) {
    await server.blobs.put(`seg.a/${i}`, bytes(i));
    await assertBody(server, `seg.a/${i}`, bytes(i));
    // No row refers to the segment, so the next sweep deletes it.
    await server.blobs.delete(`seg.a/${i}`);
  }
  done = true;
  await sweeping;
  for (const engine of [server, sweeper]) await engine[Symbol.asyncDispose]();
  assert.deepEqual(segments(home), []);
  const db = new DatabaseSync(join(home, 'relay.db'));
  assert.deepEqual(db.prepare('SELECT * FROM gone').all(), []);
  db.close();
});

test('a segment stays until its last body is deleted', async (t) => {
  const home = temporaryHome(t);
  const engine = await openSqlite({ home, role: 'server' });
  for (const i of [1, 2, 3]) await engine.blobs.put(`seg.a/${i}`, bytes(i));
  await engine.blobs.delete('seg.a/2');
  await engine.sweep();
  const [segment] = segments(home);
  const expected = Buffer.concat([bytes(1), bytes(0), bytes(3)]);
  assert.ok(expected.equals(readFileSync(join(home, segment!))));
  assert.equal(await engine.blobs.get('seg.a/2'), null);
  for (const i of [1, 3]) await engine.blobs.delete(`seg.a/${i}`);
  await engine.sweep();
  assert.deepEqual(segments(home), []);
  await engine[Symbol.asyncDispose]();
});

test('a sweep deletes a foreign file in the segment folder', async (t) => {
  const home = temporaryHome(t);
  const engine = await openSqlite({ home, role: 'server' });
  await engine.blobs.put('seg.a/1', bytes(1));
  writeFileSync(join(home, 'blobs/segments/0123456789abcdef0123456789abcdef'), 'of a server that was killed');
  await engine.sweep();
  assert.equal(segments(home).length, 1);
  await assertBody(engine, 'seg.a/1', bytes(1));
  await engine[Symbol.asyncDispose]();
});
