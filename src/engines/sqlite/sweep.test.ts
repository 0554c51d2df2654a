import assert from 'node:assert/strict';
import { existsSync, mkdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { manualClock } from '../../../test/conformance/case.ts';
import { filesIn, sizeOf, temporaryHome } from '../../../test/sqlite/home.ts';
import { ORPHAN_AGE_MS } from '../../base/limits.ts';
import { openSqlite } from './engine.ts';

const MiB = 1024 * 1024;

for (const role of ['cli', 'server'] as const) {
  test(`expired data vanishes at once, and a sweep frees its space (${role})`, async (t) => {
    const home = temporaryHome(t);
    const clock = manualClock();
    const engine = await openSqlite({ home, env: clock.env, role, durability: 'process' });
    const { blobs, records } = engine;
    const expiresAt = clock.now() + 60_000;
    const size = role === 'cli' ? 100_000 : 140_000;
    for (let i = 0; i < 120; i++) {
      await blobs.put(`exp.blob/${i}`, new Uint8Array(size).fill(i), { expiresAt });
      await records.put(`exp.record/${i}`, 'x'.repeat(10_000), { expiresAt });
    }
    for (let i = 0; i < 10; i++) await blobs.put(`exp.file/${i}`, new Uint8Array(MiB), { expiresAt });
    await blobs.put('exp.blob/kept', new Uint8Array(size).fill(5));
    await blobs.put('exp.file/kept', new Uint8Array(MiB).fill(6));
    assert.ok(sizeOf(home) > 22 * MiB);

    clock.advance(60_000);
    assert.equal(await blobs.get('exp.blob/0'), null);
    assert.equal(await blobs.get('exp.file/0'), null);
    assert.equal(await records.get('exp.record/0'), null);
    assert.deepEqual(
      (await blobs.list('exp.')).items.map((item) => item.key),
      ['exp.blob/kept', 'exp.file/kept'],
    );

    const swept = await engine.sweep();
    assert.deepEqual(swept, { blobs: 130, records: 120, bytes: 120 * size + 10 * MiB });
    assert.ok(statSync(join(home, 'relay.db')).size < 3 * MiB, 'the database has shrunk');
    const left = role === 'cli' ? MiB : MiB + size;
    assert.equal(sizeOf(join(home, 'blobs')), left, 'what a server keeps in a segment is left there');
    assert.ok(sizeOf(home) < 5 * MiB, 'and no other file has grown');
    assert.ok((await engine.usage()).diskBytes <= sizeOf(home));
    const kept = await blobs.get('exp.blob/kept');
    assert.deepEqual(kept?.body, new Uint8Array(size).fill(5));
    await engine[Symbol.asyncDispose]();
  });
}

test('a sweep frees the space of a long dropped stream, and its entries never come back', async (t) => {
  const home = temporaryHome(t);
  const engine = await openSqlite({ home, durability: 'process' });
  const data = 'x'.repeat(2000);
  await Promise.all(Array.from({ length: 4000 }, () => engine.logs.append('long', data)));
  await engine.logs.drop('long');
  assert.deepEqual(await engine.logs.read('long'), { entries: [] });
  await engine.logs.append('long', 'new');
  await engine.sweep();
  assert.ok(statSync(join(home, 'relay.db')).size < 3 * MiB);
  assert.deepEqual(
    (await engine.logs.read('long')).entries.map((entry) => entry.data),
    ['new'],
  );
  await engine[Symbol.asyncDispose]();
});

test('a sweep deletes only old bodies and drafts that no row names', async (t) => {
  const home = temporaryHome(t);
  const engine = await openSqlite({ home });
  await engine.blobs.put('kept/1', new Uint8Array(200_000));
  const [kept] = filesIn(home).filter((path) => path.startsWith('blobs'));
  const old = new Date(Date.now() - ORPHAN_AGE_MS - 1000);
  for (const [path, aged] of [
    ['blobs/ab/0123456789abcdef0123456789abcdef', true],
    ['blobs/draft/0123456789abcdef0123456789abcdef', true],
    ['blobs/ab/ffffffffffffffffffffffffffffffff', false],
    ['blobs/draft/ffffffffffffffffffffffffffffffff', false],
  ] as const) {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), 'left behind');
    if (aged) utimesSync(join(home, path), old, old);
  }
  utimesSync(join(home, kept!), old, old);
  assert.deepEqual(await engine.sweep(), { blobs: 2, records: 0, bytes: 22 });
  assert.deepEqual(
    filesIn(home).filter((path) => path.startsWith('blobs')),
    [
      kept!,
      'blobs/ab/ffffffffffffffffffffffffffffffff',
      'blobs/draft/ffffffffffffffffffffffffffffffff',
    ].sort(),
  );
  assert.ok(existsSync(join(home, kept!)));
  const later = join(home, 'blobs/ab/ffffffffffffffffffffffffffffffff');
  utimesSync(later, old, old);
  // Each of the following sweeps checks one of these folders.
  for (let i = 0; i < 2; i++) await engine.sweep();
  assert.ok(!existsSync(later));
  await engine[Symbol.asyncDispose]();
});
