import assert from 'node:assert/strict';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { backupSqlite, restoreSqlite } from '../../src/engines/sqlite/backup.ts';
import { openSqlite } from '../../src/engines/sqlite/engine.ts';
import type { Engine } from '../../src/kernel/engine.ts';
import { startChild } from './child.ts';
import { damageBody } from './damage.ts';
import { contents, filesIn, temporaryHome } from './home.ts';

const place = { prefix: 'thr.', path: (key: string) => `threads/${key.slice(4)}` };

test('a backup is a home of its own, and a restore brings back the same store', async (t) => {
  const { home, target } = await createStore(t);
  assert.deepEqual(await backupSqlite(home, target), { blobs: 2, bytes: 300_006, lost: [] });
  await check(target);
  const restored = join(temporaryHome(t), 'restored');
  assert.deepEqual(await restoreSqlite(target, restored), { blobs: 2, bytes: 300_006, lost: [] });
  await check(restored);
  for (const folder of [target, restored]) {
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    for (const path of filesIn(folder)) assert.equal(statSync(join(folder, path)).mode & 0o777, 0o600, path);
  }
  assert.deepEqual(
    readdirSync(restored).filter((name) => !name.startsWith('relay.db')),
    ['blobs', 'threads'],
  );
});

test('a backup made while another process writes is a consistent snapshot', async (t) => {
  const home = temporaryHome(t);
  const writer = startChild('acknowledge', { home, role: 'server' });
  const acknowledged: { i: number; seq: number }[] = [];
  while (acknowledged.length < 60) acknowledged.push(await writer.next());
  const target = join(temporaryHome(t), 'backup');
  const { lost } = await backupSqlite(home, target);
  writer.process.kill('SIGKILL');
  await writer.ended();
  assert.deepEqual(lost, []);

  const copy = await openSqlite({ home: target });
  const { entries } = await copy.logs.read('ack.log', { limit: 1000 });
  assert.ok(entries.length >= acknowledged.length);
  // The writer stores blob, record and entry in this order. So each entry must have its record, and each record its blob.
  for (const { data: i } of entries) {
    const record = (await copy.records.get(`ack.record/${i}`))?.value as { size: number } | undefined;
    const blob = await copy.blobs.get(`ack.blob/${i}`);
    const bytes = await new Response(blob?.body as BodyInit).arrayBuffer();
    assert.equal(bytes.byteLength, record?.size);
  }
  await copy[Symbol.asyncDispose]();
});

test('a backup needs an empty folder, and leaves nothing in it if it fails', async (t) => {
  const { home, target } = await createStore(t);
  mkdirSync(target);
  writeFileSync(join(target, 'mine'), 'x');
  await assert.rejects(backupSqlite(home, target), { code: 'conflict' });
  assert.deepEqual(filesIn(target), ['mine']);
  await assert.rejects(backupSqlite(join(home, 'none'), `${target}2`), { code: 'no_store' });
  assert.ok(!existsSync(`${target}2`) && !existsSync(join(home, 'none')));
});

test('a backup names a body that the store has lost and copies the rest', async (t) => {
  const { home, target } = await createStore(t);
  const [body] = filesIn(home).filter((path) => path.startsWith('blobs'));
  unlinkSync(join(home, body!));
  assert.deepEqual(await backupSqlite(home, target), { blobs: 1, bytes: 6, lost: ['ptr.a/large'] });
  const copy = await openSqlite({ home: target });
  assert.equal(await copy.blobs.get('ptr.a/large'), null);
  assert.ok(await copy.blobs.get('ptr.a/small'));
  await copy[Symbol.asyncDispose]();
});

test('a backup names altered bodies in rows, segments and files, and leaves them out', async (t) => {
  const { home, target } = await createStore(t);
  damageBody(home, 'ptr.a/small', 1);
  damageBody(home, 'ptr.a/large', 299_999);
  damageBody(home, 'thr.t1/a.txt', 0);
  const { lost } = await backupSqlite(home, target);
  assert.deepEqual(lost.toSorted(), ['ptr.a/large', 'ptr.a/small', 'thr.t1/a.txt']);
  const copy = await openSqlite({ home: target, place });
  assert.deepEqual((await copy.blobs.list('')).items, []);
  assert.deepEqual((await copy.records.get('ptr.a/record'))?.value, { a: 1 });
  await copy[Symbol.asyncDispose]();
});

test('the intact part of a damaged backup can be restored with partial', async (t) => {
  const { home, target } = await createStore(t);
  await backupSqlite(home, target);
  damageBody(target, 'ptr.a/small', 1);
  damageBody(target, 'thr.t1/a.txt', 1);
  const fresh = join(temporaryHome(t), 'fresh');
  await assert.rejects(restoreSqlite(target, fresh), { code: 'store_damaged' });
  const { lost } = await restoreSqlite(target, fresh, { partial: true });
  assert.deepEqual(lost, ['ptr.a/small', 'thr.t1/a.txt']);
  const copy = await openSqlite({ home: fresh, place });
  assert.deepEqual(
    (await copy.blobs.list('')).items.map(({ key }) => key),
    ['ptr.a/large'],
  );
  assert.equal((await copy.blobs.get('ptr.a/large'))?.size, 300_000);
  await copy[Symbol.asyncDispose]();
});

test('a restore over an existing store needs force and moves that store aside', async (t) => {
  const { home, target } = await createStore(t);
  await backupSqlite(home, target);
  const engine = await openSqlite({ home });
  await engine.records.put('ptr.a/record', 'newer');
  await assert.rejects(restoreSqlite(target, home), { code: 'conflict' });
  await assert.rejects(restoreSqlite(target, home, { force: true }), { code: 'busy' });
  assert.equal((await engine.records.get('ptr.a/record'))?.value, 'newer', 'in use, and left alone');
  await engine[Symbol.asyncDispose]();
  await restoreSqlite(target, home, { force: true });
  await check(home);
  const [aside] = readdirSync(home).filter((name) => name.startsWith('before-restore-'));
  const before = await openSqlite({ home: join(home, aside!) });
  assert.equal((await before.records.get('ptr.a/record'))?.value, 'newer');
  await before[Symbol.asyncDispose]();
});

test('a backup can replace a damaged store, which is moved aside', async (t) => {
  const { home, target } = await createStore(t);
  await backupSqlite(home, target);
  writeFileSync(join(home, 'relay.db'), 'nothing like a database');
  await restoreSqlite(target, home, { force: true });
  await check(home);
  const [aside] = readdirSync(home).filter((name) => name.startsWith('before-restore-'));
  assert.equal(readFileSync(join(home, aside!, 'relay.db'), 'utf8'), 'nothing like a database');
});

test('an incomplete backup is rejected before anything is changed', async (t) => {
  const breaks: ((backup: string) => void)[] = [
    (backup) => unlinkSync(join(backup, body(backup))),
    (backup) => appendFileSync(join(backup, body(backup)), 'more'),
    (backup) => writeFileSync(join(backup, 'relay.db'), 'x'.repeat(9000)),
    (backup) => {
      const bytes = readFileSync(join(backup, 'relay.db'));
      bytes.fill(0x5a, 3 * 8192, 6 * 8192);
      writeFileSync(join(backup, 'relay.db'), bytes);
    },
  ];
  for (const [i, breakIt] of breaks.entries()) {
    const { home, target } = await createStore(t);
    await backupSqlite(home, target);
    breakIt(target);
    const before = contents(home);
    await assert.rejects(restoreSqlite(target, home, { force: true }), { code: 'store_damaged' }, `${i}`);
    assert.deepEqual(contents(home), before);
    const empty = join(temporaryHome(t), 'empty');
    await assert.rejects(restoreSqlite(target, empty), { code: 'store_damaged' });
    assert.ok(!existsSync(empty) || filesIn(empty).length === 0);
  }
});

function body(backup: string): string {
  return filesIn(backup).find((path) => path.startsWith('blobs'))!;
}

async function createStore(t: TestContext): Promise<{ home: string; target: string }> {
  const home = temporaryHome(t);
  const engine = await openSqlite({ home, place });
  await engine.blobs.put('ptr.a/small', Buffer.from('small'));
  await engine.blobs.put('ptr.a/large', new Uint8Array(300_000).fill(4));
  await engine.blobs.put('thr.t1/a.txt', Buffer.from('placed'));
  await engine.records.put('ptr.a/record', { a: 1 });
  for (let i = 0; i < 50; i++) await engine.records.put(`ptr.many/${i}`, 'x'.repeat(900));
  for (let i = 0; i < 5; i++) await engine.logs.append('log', i);
  await engine.index.put('ptr.a/1', 'the needle in the haystack', {});
  await engine[Symbol.asyncDispose]();
  return { home, target: join(temporaryHome(t), 'backup') };
}

async function check(home: string): Promise<void> {
  const engine: Engine = await openSqlite({ home, place });
  const read = async (key: string) => new Response((await engine.blobs.get(key))!.body as BodyInit).bytes();
  assert.deepEqual(Buffer.from(await read('ptr.a/small')).toString(), 'small');
  assert.deepEqual(await read('ptr.a/large'), new Uint8Array(300_000).fill(4));
  assert.deepEqual(Buffer.from(await read('thr.t1/a.txt')).toString(), 'placed');
  assert.deepEqual((await engine.records.get('ptr.a/record'))?.value, { a: 1 });
  assert.equal((await engine.logs.info('log')).count, 5);
  assert.equal((await engine.index.search('ptr.a/', 'needle')).length, 1);
  await engine[Symbol.asyncDispose]();
}
