import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { LOCAL_CALLER } from '../../src/contract/caller.ts';
import { openSqlite } from '../../src/engines/sqlite/engine.ts';
import type { Engine } from '../../src/kernel/engine.ts';
import { startRelay } from '../http/relay-under-test.ts';
import { type GuardedRelay, startGuarded } from '../keys/guarded-relay.ts';
import { HOUR, newHome, plan, sqlite, usedOf } from '../keys/stored-bytes.ts';

interface Version {
  readonly size: number;
  readonly version: number;
}
interface Head {
  readonly id: string;
  readonly first: number;
  readonly current: Version;
}

const weight = (version: Version) => version.size + Buffer.byteLength(JSON.stringify(version));

/** Returns the bytes of all file versions of `acme` in the space `s`, by reading every version. */
async function storedBytes({ records }: Engine): Promise<number> {
  let sum = 0;
  for (const { value } of (await records.list('fil.acme.s/at/', { limit: 1000 })).items) {
    const { id, first, current } = value as unknown as Head;
    sum += weight(current);
    for (const old of (await records.list(`fil.acme.s/old/${id}/`, { limit: 1000 })).items) {
      const version = old.value as unknown as Version;
      if (version.version >= first && version.version < current.version) sum += weight(version);
    }
  }
  return sum;
}

const put = (relay: GuardedRelay, key: string, path: string, body: string, o = '') =>
  relay.ask('PUT', `/files/s/${path}${o}`, { key, body });

test('files count against the storage quota, and a plan rejects what does not fit', async () => {
  await using relay = await startGuarded({ open: sqlite(), core: plan() });
  const { key } = await relay.key();
  const used = () => usedOf(relay, { key } as Parameters<typeof usedOf>[1]);
  assert.equal((await put(relay, key, 'a', 'x'.repeat(10_000))).status, 200);
  assert.equal(await used(), await storedBytes(relay.engine));
  assert.equal((await put(relay, key, 'a', 'y'.repeat(10_000))).status, 200);
  const both = await used();
  assert.equal(both, await storedBytes(relay.engine));
  assert.ok(both > 20_000, 'the earlier version counts');
  assert.equal((await put(relay, key, 'a', 'z', '?keep=0')).status, 200);
  assert.ok((await used()) < 1_000, 'what is not kept is freed');
  assert.equal(await used(), await storedBytes(relay.engine));
  const refused = await put(relay, key, 'b', 'x'.repeat(50_000));
  assert.equal(refused.json.code, 'over_storage');
  assert.equal((await relay.ask('GET', '/files/s/a', { key })).text, 'z');
  for (let at = 0; at < 30; at++) assert.equal((await put(relay, key, 'c', `${at}`)).status, 200);
  assert.equal(await used(), await storedBytes(relay.engine));
  assert.equal((await put(relay, key, 'd', 'x'.repeat(1_000), '?ttl=60')).status, 200);
  const before = await used();
  relay.advance(61_000);
  await relay.core.sweepStore();
  assert.ok(before - (await used()) > 1_000, 'what expired is freed');
  assert.equal((await relay.ask('POST', '/files/s/delete', { key, body: { prefix: '' } })).json.deleted, 2);
  assert.equal(await used(), 0);
});

test('two servers that write, overwrite and delete the same files keep a correct sum', async () => {
  const open = sqlite();
  await using one = await startGuarded({ open, core: plan(10_000_000) });
  await using two = await startGuarded({ open, core: plan(10_000_000) });
  const key = await one.key();
  await Promise.all(
    Array.from({ length: 8 }, async (_, writer) => {
      const relay = writer % 2 ? one : two;
      for (let at = 0; at < 12; at++) {
        const path = `f${(writer + at) % 3}`;
        const kind = (writer * 7 + at * 5) % 6;
        if (kind === 0) await relay.ask('DELETE', `/files/s/${path}`, { key });
        else await put(relay, key.key, path, 'x'.repeat(100 * writer + at), `?keep=${kind === 1 ? 0 : kind}`);
      }
    }),
  );
  for (const relay of [one, two]) await relay.core.background.settle();
  const sum = await storedBytes(one.engine);
  assert.deepEqual([await usedOf(one, key), await usedOf(two, key)], [sum, sum]);
  await one.core.recount('acme');
  assert.equal(await usedOf(one, key), sum, 'a recount finds nothing to put right');
  const { items } = await one.engine.blobs.list('fil.acme.s/', { limit: 1000 });
  const { files } = (await one.ask('GET', '/files/s', { key })).json;
  let versions = 0;
  for (const { path } of files)
    versions += (await one.ask('GET', `/files/s/${path}?log=1`, { key })).json.versions.length;
  assert.equal(items.length, versions, 'every body is one of a version that is kept');
});

test('after kill -9 the sum is at most too high; a recount corrects it and removes orphans', async () => {
  const home = newHome();
  const child = spawn(process.execPath, ['--input-type=module', '-e', WRITER, home, import.meta.dirname], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let lines = 0;
  for await (const chunk of child.stdout) {
    lines += String(chunk).split('\n').length - 1;
    if (lines > 60) break;
  }
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
  await using relay = await startGuarded({
    open: (env) => openSqlite({ home, env, role: 'server' }),
    core: plan(100_000_000),
  });
  const key = await relay.key();
  assert.ok((await relay.core.storage.used('acme')) >= (await storedBytes(relay.engine)));
  const bytes = async () => {
    const { files } = (await relay.ask('GET', '/files/s?limit=1000', { key })).json;
    for (const { path, size } of files) {
      const response = await relay.ask('GET', `/files/s/${path}`, { key });
      assert.equal(response.text.length, size, 'what was acknowledged can be read');
    }
    return files.length;
  };
  assert.ok((await bytes()) > 0);
  // A sweep removes files whose deletion was interrupted, and orphan bodies that are older than an hour.
  relay.advance(2 * HOUR);
  await relay.core.sweepStore();
  await relay.core.recount('acme');
  const sum = await storedBytes(relay.engine);
  assert.equal(await usedOf(relay, key), sum);
  const { items } = await relay.engine.blobs.list('fil.acme.s/', { limit: 1000 });
  let versions = 0;
  const { files } = (await relay.ask('GET', '/files/s?limit=1000', { key })).json;
  for (const { path } of files)
    versions += (await relay.ask('GET', `/files/s/${path}?log=1`, { key })).json.versions.length;
  assert.equal(items.length, versions);
});

/** Writes, overwrites and deletes until it is killed. Prints a line after each round. */
const WRITER = `
  const [home, folder] = process.argv.slice(1);
  const { openCore } = await import(folder + '/../../src/app/store/open-core.ts');
  const { loadConfig } = await import(folder + '/../../src/app/config.ts');
  const { core } = await openCore(loadConfig({ RELAY_HOME: home, HOME: home }), 'server');
  const relay = core.relay({ tenant: 'acme', keyId: 'k', name: 'w', scopes: ['files'] }, 'http://127.0.0.1:1');
  const body = (n) => new TextEncoder().encode('x'.repeat(n));
  for (let at = 0; ; at++) {
    await Promise.all([
      relay.files.put('s', 'same', { body: body(at % 500), keep: 3 }),
      relay.files.put('s', 'only', { body: body(at % 300), keep: 0 }),
      relay.files.put('s', 'f' + (at % 7), { body: body(at % 900) }),
      at % 3 === 0 ? relay.files.remove('s', { prefix: 'f' + ((at + 3) % 7) }) : null,
    ]);
    console.log(at);
  }
`;

test('a crash between the steps of a write or delete does no harm', async () => {
  await using relay = await startRelay({ open: sqlite() });
  const { engine, core } = relay;
  const { files } = core.relay(LOCAL_CALLER, relay.url);
  const body = (text: string) => new TextEncoder().encode(text);
  await files.put('s', 'a', { body: body('one') });
  const head = (await engine.records.get('fil.local.s/at/a'))!;
  const { id, current } = head.value as unknown as Head;
  // Simulate a kill before the head was replaced: the version record exists already, and there is an orphan body.
  await engine.records.put(`fil.local.s/old/${id}/000000000001`, current as never);
  await engine.blobs.put('fil.local.s/body/orphan', body('never came'));
  assert.equal((await files.log('s', 'a')).length, 1);
  await files.put('s', 'a', { body: body('two') });
  assert.equal((await files.log('s', 'a')).length, 2);
  // Simulate a kill after the head was marked as deleted. The file is invisible; the sweep or the next writer removes it.
  const now = (await engine.records.get('fil.local.s/at/a'))!;
  await engine.records.put('sys.fil/000000000000000/local.s/a', { tenant: 'local', space: 's', path: 'a' });
  await engine.records.put('fil.local.s/at/a', { ...(now.value as object), expires: 0 });
  await assert.rejects(files.get('s', 'a'), { code: 'not_found' });
  assert.equal((await files.put('s', 'b', { body: body('other') })).version, 1);
  await core.sweepStore();
  assert.deepEqual((await engine.records.list('fil.local.s/old/')).items, []);
  assert.equal((await files.put('s', 'a', { body: body('again') })).version, 1);
  // Add a version record of the deleted file, as a writer that lost the race leaves it.
  await engine.records.put(`fil.local.s/old/${id}/000000000002`, current as never);
  relay.advance(2 * HOUR);
  await core.recount('local');
  assert.deepEqual((await engine.records.list('fil.local.s/old/')).items, []);
  const { items } = await engine.blobs.list('fil.local.s/');
  assert.equal(items.length, 2, 'of the two files there are');
  const store = core.files.store;
  const names = await Promise.all(items.map(({ key }) => store.nameOfBody(key)));
  assert.deepEqual(names.sort(), ['file s/a', 'file s/b']);
});

test('tenants do not see each other’s files', async () => {
  await using relay = await startGuarded();
  const ownKey = await relay.key();
  const theirs = await relay.key({ tenant: 'other' });
  assert.equal((await put(relay, ownKey.key, 'a', 'secret')).status, 200);
  const foreign = await relay.ask('GET', '/files/s/a', { key: theirs });
  await relay.ask('DELETE', '/files/s/a', { key: theirs });
  const missing = await relay.ask('GET', '/files/s/b', { key: theirs });
  assert.deepEqual(
    [foreign.status, foreign.text.replaceAll('file a', 'file b')],
    [missing.status, missing.text],
  );
  assert.deepEqual((await relay.ask('GET', '/files', { key: theirs })).json.spaces, []);
  assert.deepEqual((await relay.ask('GET', '/files/s', { key: theirs })).json.files, []);
  assert.equal((await relay.ask('GET', '/files/s/a', { key: ownKey })).text, 'secret');
  assert.equal((await relay.ask('GET', '/files/s/a')).status, 401);
  const { rows } = (await relay.ask('GET', '/usage', { key: ownKey })).json;
  assert.deepEqual(
    rows.map(({ operation, count, bytes }: { operation: string; count: number; bytes: number }) => [
      operation,
      count,
      bytes,
    ]),
    [
      ['file_put', 1, 6],
      ['file_get', 1, 6],
    ],
  );
});
