import assert from 'node:assert/strict';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openSqlite } from '../../src/engines/sqlite/engine.ts';
import { startChild } from './child.ts';
import { temporaryHome } from './home.ts';

for (const role of ['cli', 'server'] as const) {
  test(`an open store does not keep a ${role} alive`, async (t) => {
    const child = startChild('linger', { home: temporaryHome(t), role, follow: false });
    assert.deepEqual(await child.rest(), ['done']);
  });
}

test('a subscription keeps the process alive until its signal fires', async (t) => {
  const home = temporaryHome(t);
  const child = startChild('linger', { home, role: 'cli', follow: true });
  assert.equal(await child.next(), 'done');
  const engine = await openSqlite({ home });
  await engine.logs.append('lin.log', 'go on');
  await engine.logs.append('lin.log', 'end');
  assert.deepEqual(await child.rest(), ['ended']);
  await engine[Symbol.asyncDispose]();
});

test('closing commits pending writes, ends subscriptions, and may be called twice', async (t) => {
  const home = temporaryHome(t);
  const engine = await openSqlite({ home });
  const following = (async () => {
    const entries = engine.logs.subscribe('lif.log', { signal: new AbortController().signal });
    let count = 0;
    for await (const _ of entries) count++;
    return count;
  })();
  await engine.logs.append('lif.log', 1);
  const writing = Array.from({ length: 50 }, (_, i) => engine.records.put(`lif.a/${i}`, i));
  await Promise.all([engine[Symbol.asyncDispose](), engine[Symbol.asyncDispose]()]);
  assert.ok((await Promise.all(writing)).every((revision) => revision !== null));
  assert.equal(await following, 1);
  await engine[Symbol.asyncDispose]();
  await assert.rejects(engine.records.put('lif.a/late', 1), { code: 'store_unavailable' });
  await assert.rejects(engine.records.get('lif.a/1'), { code: 'store_unavailable' });
  assert.ok(!existsSync(join(home, 'relay.db-wal')), 'the last one to close leaves no WAL');

  const again = await openSqlite({ home });
  assert.equal((await again.records.list('lif.a/', { limit: 1000 })).items.length, 50);
  assert.equal(await again.records.get('lif.a/late'), null);
  await again[Symbol.asyncDispose]();
});

test('two stores of one process in the same home do not drop each other’s locks', async (t) => {
  const home = temporaryHome(t);
  const first = await openSqlite({ home });
  await first.logs.append('lif.locks', 1);
  const second = await openSqlite({ home });
  await second.logs.append('lif.locks', 2);
  await second[Symbol.asyncDispose]();
  // Another process opens and closes the store. It must notice that this process uses the store, and keep the WAL.
  await startChild('append-some', { home, stream: 'lif.locks', from: 3, count: 1 }).rest();
  await first.logs.append('lif.locks', 4);
  const entries = await startChild('follow', { home, stream: 'lif.locks', count: 4 }).rest<{
    data: number;
  }>();
  assert.deepEqual(
    entries.slice(1).map(({ data }) => data),
    [1, 2, 3, 4],
  );
  await first[Symbol.asyncDispose]();
});

test('a body that is still arriving when the store is closed is not stored', async (t) => {
  const home = temporaryHome(t);
  const engine = await openSqlite({ home });
  let open: () => void = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      controller.enqueue(new Uint8Array(300_000));
      await gate;
      controller.close();
    },
  });
  const writing = assert.rejects(engine.blobs.put('lif.blob/1', body), { code: 'store_unavailable' });
  await engine[Symbol.asyncDispose]();
  open();
  await writing;
  const again = await openSqlite({ home });
  assert.deepEqual((await again.blobs.list('')).items, []);
  await again[Symbol.asyncDispose]();
});

test('a server under load keeps the WAL short', async (t) => {
  const home = temporaryHome(t);
  const engine = await openSqlite({ home, role: 'server', durability: 'process' });
  for (let i = 0; i < 1000; i++) await engine.blobs.put(`wal.a/${i}`, new Uint8Array(120_000).fill(i));
  assert.ok(statSync(join(home, 'relay.db-wal')).size < 80 * 1024 * 1024, 'of 120 MB written');
  assert.deepEqual((await engine.blobs.get('wal.a/7'))?.body, new Uint8Array(120_000).fill(7));
  await engine[Symbol.asyncDispose]();
});
