import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { copyStore } from '../../src/app/store/engine-copy.ts';
import { openSqlite } from '../../src/engines/sqlite/engine.ts';
import { relay } from '../cli/program.ts';
import { fill, opened, readWholeStore, SILENT } from './stores.ts';

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'relay-moving-'));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

test('after a store is copied completely, it rejects writes and names the new location', async (t) => {
  const home = folder(t);
  await using from = opened(await openSqlite({ home: join(home, 'a'), role: 'server' }), 'a');
  await using to = opened(await openSqlite({ home: join(home, 'b'), role: 'server' }), 'b');
  await fill(from.engine, { scale: 200 });
  const before = await readWholeStore(from.engine);
  const copied = await copyStore(from, to, SILENT);
  assert.deepEqual(await readWholeStore(to.engine), before);
  assert.deepEqual([copied.from, copied.to, copied.blobs, copied.lost], ['a', 'b', 200, []]);
  await assert.rejects(from.engine.records.put('ten.t/new', 1), { code: 'store_moved' });
  assert.match((await from.engine.state()).warnings[0]!, /moved to b/);
  const next = await to.engine.logs.append('thr.one', 'next');
  assert.ok(next! > (await from.engine.moving.highestNumber()), 'numbers go on above those of the old store');
});

test('relay up refuses a moved store, names the new location, and serves it again after it is reopened', async (t) => {
  const home = folder(t);
  const [from, to] = [join(home, 'a'), join(home, 'b')];
  const ran = (...args: string[]) => relay(['--home', from, ...args], { home });
  assert.equal((await relay(['--home', from, 'push'], { home, stdin: 'a text' })).code, 0);
  assert.equal((await ran('engine', 'copy', from, to)).code, 0);
  for (const flags of [[], ['--detach'], ['--detach', '--auth']]) {
    const { code, stderr } = await ran('up', '--port', '0', ...flags);
    assert.deepEqual([code, stderr.includes(`The store has moved to ${to}.`)], [1, true], stderr);
    assert.match(stderr, /relay engine reopen/);
  }
  assert.equal((await ran('engine', 'reopen', from)).code, 0);
  const up = await ran('up', '--port', '0', '--detach');
  assert.equal(up.code, 0, up.stderr);
  // Move the store while a server runs. The server still serves reads, and `relay status` reports the move.
  assert.equal((await ran('engine', 'copy', from, join(home, 'c'))).code, 0);
  assert.match((await ran('status')).stdout, /The store has moved to .*c\. This copy is read-only/);
  assert.equal((await ran('down')).code, 0);
});

test('a store under constant writes is copied without losing an acknowledged write', async (t) => {
  const home = folder(t);
  await using from = opened(await openSqlite({ home: join(home, 'a'), role: 'server' }), 'a');
  await using to = opened(await openSqlite({ home: join(home, 'b'), role: 'server' }), 'b');
  await fill(from.engine, { scale: 300 });
  const writer = await openSqlite({ home: join(home, 'a') });
  t.after(() => writer[Symbol.asyncDispose]());
  const acknowledged: { key: string; seq: number }[] = [];
  const removed: string[] = [];
  let refused: unknown;
  const writing = (async () => {
    for (let i = 0; refused === undefined; i++) {
      const key = `ten.t/live/${i}`;
      try {
        await writer.records.put(key, i);
        await writer.blobs.put(`ptr.live${i}/body`, new Uint8Array(5000).fill(i));
        const seq = await writer.logs.append(`chn.t.live${i % 3}`, i);
        acknowledged.push({ key, seq: seq! });
        if (i % 5 === 4 && (await writer.records.delete(`ten.t/live/${i - 2}`)))
          removed.push(`ten.t/live/${i - 2}`);
        if (i % 20 === 19) await writer.logs.drop('chn.t.live2');
      } catch (error) {
        refused = error;
      }
    }
  })();
  await copyStore(from, to, SILENT);
  await writing;
  assert.match((refused as { code: string }).code, /^store_mov(ing|ed)$/);
  assert.ok(acknowledged.length > 0);
  assert.deepEqual(await readWholeStore(to.engine), await readWholeStore(from.engine));
  for (const { key } of acknowledged)
    assert.equal((await to.engine.records.get(key)) === null, removed.includes(key), key);
});

test('a target that is not empty is rejected, and an interrupted copy can be resumed', async (t) => {
  const home = folder(t);
  await using from = opened(await openSqlite({ home: join(home, 'a'), role: 'server' }), 'a');
  await using other = opened(await openSqlite({ home: join(home, 'o'), role: 'server' }), 'o');
  await using to = opened(await openSqlite({ home: join(home, 'b'), role: 'server' }), 'b');
  await fill(from.engine, { scale: 60 });
  await fill(other.engine, { scale: 2 });
  await assert.rejects(copyStore(from, other, SILENT), { code: 'conflict' });
  let items = 0;
  const stop = () => {
    if (++items === 50) throw new Error('stopped');
  };
  await assert.rejects(copyStore(from, to, { step: () => {}, add: stop }), { message: 'stopped' });
  await assert.rejects(copyStore(other, to, SILENT), { code: 'conflict' });
  await from.engine.records.delete('ten.t/r/2');
  await from.engine.logs.drop('chn.t.3');
  await from.engine.logs.append('chn.t.3', 'begun anew');
  await from.engine.blobs.put('ptr.5/body', new Uint8Array(3));
  await copyStore(from, to, SILENT);
  assert.deepEqual(await readWholeStore(to.engine), await readWholeStore(from.engine));
  const again = await copyStore(from, to, SILENT);
  assert.deepEqual([again.blobs, again.frozen_ms], [60, 0], 'it was done already');
});

test('if copying fails while writes are blocked, writes are allowed again', async (t) => {
  const home = folder(t);
  await using from = opened(await openSqlite({ home: join(home, 'a'), role: 'server' }), 'a');
  await using to = opened(await openSqlite({ home: join(home, 'b'), role: 'server' }), 'b');
  await fill(from.engine, { scale: 10 });
  const step = (name: string) => {
    if (name === 'switch') to.engine.moving.prepare = () => Promise.reject(new Error('no room'));
  };
  await assert.rejects(copyStore(from, to, { step, add: () => {} }), { message: 'no room' });
  await from.engine.records.put('ten.t/new', 1);
});

test('a damaged blob in the source is reported and skipped, and the rest is copied', async (t) => {
  const home = folder(t);
  await using from = opened(await openSqlite({ home: join(home, 'a') }), 'a');
  await using to = opened(await openSqlite({ home: join(home, 'b'), role: 'server' }), 'b');
  await fill(from.engine, { scale: 5 });
  const { damageBody } = await import('../sqlite/damage.ts');
  damageBody(join(home, 'a'), 'ptr.0/body', 700_000);
  const { lost, blobs } = await copyStore(from, to, SILENT);
  assert.deepEqual([lost, blobs], [['ptr.0/body'], 4]);
});
