import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { filesIn, temporaryHome } from '../../../test/sqlite/home.ts';
import { openSqlite } from './engine.ts';

const body = (size = 140_000) => new Uint8Array(size).fill(7);

test('a staged write is invisible until its record is committed, and leaves nothing if the record never comes', async (t) => {
  const home = temporaryHome(t);
  const engine = await openSqlite({ home, role: 'server' });
  const [small, middling] = [
    await engine.blobs.stage('stg.a/small', body(100)),
    await engine.blobs.stage('stg.a/middling', body()),
  ];
  await engine.records.put('stg.a/other', 1);
  assert.deepEqual(await engine.blobs.list('stg.a/'), { items: [] });
  assert.equal(
    await engine.records.put('stg.a/other', 2, { expect: 'absent', with: [small, middling] }),
    null,
  );
  assert.deepEqual(await engine.blobs.list('stg.a/'), { items: [] });
  await engine.records.put('stg.a/meta', 1, { with: [small, middling] });
  assert.equal((await engine.blobs.list('stg.a/')).items.length, 2);
  await engine[Symbol.asyncDispose]();
});

test('a body whose segment was swept before its record came is stored in its row', async (t) => {
  const home = temporaryHome(t);
  const engine = await openSqlite({ home, role: 'server' });
  const staged = await engine.blobs.stage('stg.a/1', body());
  const [segment, ...others] = filesIn(home).filter((path) => path.startsWith('blobs/segments/'));
  assert.deepEqual(others, []);
  rmSync(join(home, segment!));
  await engine.records.put('stg.a/meta', 1, { with: [staged] });
  assert.deepEqual((await engine.blobs.get('stg.a/1'))?.body, body());
  await engine[Symbol.asyncDispose]();
});

test('a small body that a CLI process stages for a chosen path becomes a file when its record is committed', async (t) => {
  const home = temporaryHome(t);
  const place = { prefix: 'stg.', path: (key: string) => `places/${key}` };
  const engine = await openSqlite({ home, place });
  const staged = await engine.blobs.stage('stg.a/1', body(100));
  const placed = () => filesIn(home).filter((path) => path.startsWith('places/'));
  assert.deepEqual(placed(), []);
  await engine.records.put('stg.a/other', 1);
  assert.equal(await engine.records.put('stg.a/other', 2, { expect: 'absent', with: [staged] }), null);
  assert.deepEqual([placed(), (await engine.blobs.list('stg.a/')).items], [[], []]);
  await engine.records.put('stg.a/meta', 1, { with: [staged] });
  assert.deepEqual(placed(), ['places/stg.a/1']);
  assert.deepEqual(
    new Uint8Array(await new Response((await engine.blobs.get('stg.a/1'))!.body as BodyInit).arrayBuffer()),
    body(100),
  );
  // No copy of the replaced file remains after the commit.
  await engine.records.put('stg.a/meta', 2, { with: [await engine.blobs.stage('stg.a/1', body(50))] });
  assert.deepEqual(
    filesIn(home).filter((path) => path.startsWith('blobs/')),
    [],
  );
  await engine[Symbol.asyncDispose]();
});
