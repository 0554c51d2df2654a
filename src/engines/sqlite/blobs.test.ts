import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, statSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { manualClock } from '../../../test/conformance/case.ts';
import { filesIn, temporaryHome } from '../../../test/sqlite/home.ts';
import type { BlobBody } from '../../kernel/blobs.ts';
import { openSqlite } from './engine.ts';

const place = { prefix: 'thr.', path: (key: string) => `threads/${key.slice(4)}` };

test('a body with a chosen path is stored at that path, whatever its size, readable only by its owner', async (t) => {
  const home = temporaryHome(t);
  const engine = await openSqlite({ home, place });
  await engine.blobs.put('thr.t1/artifacts/a.txt', Buffer.from('hello'));
  await engine.blobs.put('thr.t1/artifacts/b.bin', new Blob([new Uint8Array(300_000)]).stream());
  await engine.blobs.put('other/1', Buffer.from('inline'));
  assert.equal(readFileSync(join(home, 'threads/t1/artifacts/a.txt'), 'utf8'), 'hello');
  assert.equal(statSync(join(home, 'threads/t1/artifacts/b.bin')).size, 300_000);
  assert.deepEqual(
    filesIn(home).filter((path) => !path.startsWith('relay.db')),
    ['threads/t1/artifacts/a.txt', 'threads/t1/artifacts/b.bin'],
    'and nothing else is left',
  );
  assert.equal(statSync(join(home, 'threads/t1')).mode & 0o777, 0o700);
  assert.equal(statSync(join(home, 'threads/t1/artifacts/a.txt')).mode & 0o777, 0o600);
  const { size, body } = (await engine.blobs.get('thr.t1/artifacts/a.txt', { start: 1, end: 3 }))!;
  assert.deepEqual([size, await text(body)], [5, 'el']);
  assert.ok((await engine.usage()).diskBytes > 300_005);
  await engine[Symbol.asyncDispose]();
});

test('a body at a chosen path is replaced and deleted as a whole, and running reads continue', async (t) => {
  const home = temporaryHome(t);
  const engine = await openSqlite({ home, place });
  const path = join(home, 'threads/t1/a');
  await engine.blobs.put('thr.t1/a', Buffer.from('first'));
  const reader = (await engine.blobs.get('thr.t1/a'))!.body;
  await engine.blobs.put('thr.t1/a', Buffer.from('second'));
  assert.equal(readFileSync(path, 'utf8'), 'second');
  await assert.rejects(engine.blobs.put('thr.t1/a', broken('third')), /broke/);
  assert.equal(readFileSync(path, 'utf8'), 'second');
  const other = (await engine.blobs.get('thr.t1/a'))!.body;
  await engine.blobs.delete('thr.t1/a');
  assert.ok(!existsSync(path));
  assert.deepEqual([await text(reader), await text(other)], ['first', 'second']);
  await Promise.all(
    Array.from({ length: 8 }, (_, i) => engine.blobs.put('thr.t1/a', Buffer.alloc(i + 1, i))),
  );
  const { size, body } = (await engine.blobs.get('thr.t1/a'))!;
  assert.equal((await text(body)).length, size);
  assert.deepEqual(
    filesIn(home).filter((file) => !file.startsWith('relay.db')),
    ['threads/t1/a'],
  );
  await engine[Symbol.asyncDispose]();
});

test('a body at a chosen path is deleted when it has expired', async (t) => {
  const home = temporaryHome(t);
  const clock = manualClock();
  const engine = await openSqlite({ home, place, env: clock.env });
  await engine.blobs.put('thr.t1/a', Buffer.from('x'), { expiresAt: clock.now() + 1000 });
  await engine.blobs.put('thr.t1/b', Buffer.from('x'));
  clock.advance(1000);
  assert.equal(await engine.blobs.get('thr.t1/a'), null);
  assert.equal((await engine.sweep()).blobs, 1);
  assert.ok(!existsSync(join(home, 'threads/t1/a')) && existsSync(join(home, 'threads/t1/b')));
  await engine[Symbol.asyncDispose]();
});

test('if a chosen path cannot be written, the old file stays and nothing of the new body remains', async (t) => {
  const home = temporaryHome(t);
  const engine = await openSqlite({ home, place });
  mkdirSync(join(home, 'threads/t1/a/b'), { recursive: true });
  await assert.rejects(engine.blobs.put('thr.t1/a', Buffer.from('x')), { code: 'store_unusable' });
  assert.equal(await engine.blobs.get('thr.t1/a'), null);
  assert.deepEqual(
    filesIn(home).filter((file) => !file.startsWith('relay.db')),
    [],
  );
  await engine[Symbol.asyncDispose]();
});

test('a chosen path outside the home or in a folder of the engine is rejected', async (t) => {
  const home = temporaryHome(t);
  for (const bad of ['/etc/x', '../x', 'a/../../x', 'relay.db', 'blobs/ab/x', '.', 'a/', '']) {
    const engine = await openSqlite({ home, place: { prefix: '', path: () => bad } });
    await assert.rejects(engine.blobs.put('a/b', Buffer.from('x')), { code: 'bad_request' }, bad);
    await engine[Symbol.asyncDispose]();
  }
});

test('a body whose file was deleted by hand is a clear error and never another body', async (t) => {
  const home = temporaryHome(t);
  const engine = await openSqlite({ home });
  await engine.blobs.put('a/1', new Uint8Array(200_000));
  const [file] = filesIn(home).filter((path) => path.startsWith('blobs'));
  unlinkSync(join(home, file!));
  await assert.rejects(engine.blobs.get('a/1'), { code: 'store_damaged' });
  await engine.blobs.put('a/1', Buffer.from('again'));
  assert.equal(await text((await engine.blobs.get('a/1'))!.body), 'again');
  await engine[Symbol.asyncDispose]();
});

function text(body: BlobBody): Promise<string> {
  return new Response(body as BodyInit).text();
}

function broken(start: string): ReadableStream<Uint8Array> {
  let sent = false;
  return new ReadableStream({
    pull(controller) {
      if (sent) throw new Error('the line broke');
      controller.enqueue(Buffer.from(start));
      sent = true;
    },
  });
}
