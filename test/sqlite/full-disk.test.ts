import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { openSqlite } from '../../src/engines/sqlite/engine.ts';
import { startChild } from './child.ts';
import { filesIn } from './home.ts';
import { smallDisk } from './small-disk.ts';

const KINDS = ['inline', 'segment', 'file', 'stream', 'placed', 'record', 'log'] as const;

for (const kind of KINDS) {
  test(`a full disk is a clear error and leaves nothing half-written: ${kind}`, async (t) => {
    const disk = smallDisk(t);
    if (!disk) return;
    const [result] = await startChild('fill-disk', { home: disk, kind }).rest<{
      code: string;
      stored: string[];
    }>();
    assert.equal(result!.code, 'store_full');
    assert.ok(result!.stored.length > 0, 'some found room');

    const engine = await openSqlite({ home: disk });
    const { items } = await engine.blobs.list('full.', { limit: 1000 });
    const records = (await engine.records.list('full.a/', { limit: 1000 })).items;
    const { entries } = await engine.logs.read('full', { limit: 1000 });
    assert.equal(
      items.length + records.length + entries.length,
      result!.stored.length,
      'just what was acknowledged',
    );
    for (const { key, size } of items) {
      const { body } = (await engine.blobs.get(key))!;
      const bytes = new Uint8Array(await new Response(body as BodyInit).arrayBuffer());
      assert.equal(bytes.length, size);
      assert.ok(bytes.every((byte) => byte === Number(key.slice('full.'.length)) + 1));
    }
    const files = filesIn(disk).filter((path) => path.startsWith('blobs') || path.startsWith('things'));
    const expected = { inline: 0, segment: 1 }[kind as string] ?? items.length;
    assert.equal(files.length, expected, `no body is left over: ${files}`);

    assert.equal(spawnSync('mount', ['-o', 'remount,size=8m', disk]).status, 0);
    await engine.blobs.put('full.again', new Uint8Array(400_000));
    await engine.records.put('full.a/again', 1);
    await engine[Symbol.asyncDispose]();
  });
}

for (const kind of ['segment', 'file']) {
  test(`bodies in files can still be deleted on a full disk: ${kind}`, async (t) => {
    const disk = smallDisk(t);
    if (!disk) return;
    await startChild('fill-disk', { home: disk, kind }).rest();
    const engine = await openSqlite({ home: disk });
    for (const { key } of (await engine.blobs.list('full.')).items) await engine.blobs.delete(key);
    await engine.sweep();
    await engine.blobs.put('full.again', new Uint8Array(400_000));
    await engine[Symbol.asyncDispose]();
  });
}

test('a disk without room for an empty store is a clear error', async (t) => {
  const disk = smallDisk(t, '64k');
  if (!disk) return;
  await assert.rejects(openSqlite({ home: disk }), { code: 'store_full' });
});
