import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { openSqlite } from '../../src/engines/sqlite/engine.ts';
import { until } from '../until.ts';
import { type GuardedRelay, startGuarded } from './guarded-relay.ts';
import { HOUR, heldBy, newHome, newThread, plan, putArtifact, ROOM, sqlite, usedOf } from './stored-bytes.ts';

test('two servers of one store keep one sum, and exceed the limit at most by the requests in flight', async () => {
  const open = sqlite();
  await using one = await startGuarded({ open, core: plan() });
  await using two = await startGuarded({ open, core: plan() });
  const key = await one.key();
  const id = await newThread(one, key);
  const servers = [one, two];
  const writers = 8;
  const size = 700;
  await Promise.all(
    Array.from({ length: writers }, async (_, i) => {
      const relay = servers[i % 2]!;
      const write = () =>
        i < 4
          ? relay.ask('POST', `/channels/c${i}`, { key, body: { msg: 'x'.repeat(size) } })
          : putArtifact(relay, key, id, size);
      for (;;) {
        const { status, text } = await write();
        if (status === 402) return;
        assert.ok(status === 200 || status === 201, text);
      }
    }),
  );
  const channels = [0, 1, 2, 3].map((i) => `c${i}`);
  const storedBytes = await heldBy(one.engine, [id], channels);
  assert.deepEqual([await usedOf(one, key), await usedOf(two, key)], [storedBytes, storedBytes]);
  assert.ok(storedBytes > ROOM - 3 * size && storedBytes < ROOM + writers * 3 * size, `${storedBytes} bytes`);
  await Promise.all([one, two].map((relay) => relay.ask('DELETE', `/threads/${id}`, { key })));
  assert.equal(await usedOf(two, key), await heldBy(one.engine, [], channels));
});

test('servers that trim a channel at the same time free its messages once', async () => {
  const open = sqlite();
  const core = { ...plan(), channels: { messages: 20, retentionMs: HOUR } };
  await using one = await startGuarded({ open, core });
  await using two = await startGuarded({ open, core });
  const key = await one.key();
  const publish = (relay: GuardedRelay, at: number) =>
    relay.ask('POST', '/channels/c', { key, body: { msg: 'x'.repeat(at) } });
  for (let at = 0; at < 60; at++) assert.equal((await publish(at % 2 ? one : two, at)).status, 200);
  for (let round = 0; round < 3; round++) await Promise.all([one.core.sweepStore(), two.core.sweepStore()]);
  assert.equal((await one.engine.logs.info('chn.acme.c')).count, 20);
  assert.equal(await usedOf(one, key), await heldBy(one.engine, [], ['c']));
});

test('after kill -9 the sum is never too low, and a recount corrects it', async () => {
  const home = newHome();
  const child = spawn(process.execPath, ['--input-type=module', '-e', WRITER, home, import.meta.dirname], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let lines = 0;
  for await (const chunk of child.stdout) {
    lines += String(chunk).split('\n').length - 1;
    if (lines > 40) break;
  }
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
  await using relay = await startGuarded({
    open: (env) => openSqlite({ home, env, role: 'server' }),
    core: plan(10_000_000),
  });
  const key = await relay.key();
  const { threads } = (await relay.ask('GET', '/threads?limit=1000', { key })).json;
  const ids = threads.map(({ thread_id }: { thread_id: string }) => thread_id);
  assert.ok(ids.length > 0);
  const storedBytes = await heldBy(relay.engine, ids, ['c']);
  assert.ok((await relay.core.storage.used('acme')) >= storedBytes);
  await relay.core.recount('acme');
  assert.equal(await usedOf(relay, key), storedBytes);
});

/** A process that writes, deletes and trims until it is killed. Prints a line after each operation. */
const WRITER = `
  const [home, folder] = process.argv.slice(1);
  const { openCore } = await import(folder + '/../../src/app/store/open-core.ts');
  const { loadConfig } = await import(folder + '/../../src/app/config.ts');
  const config = loadConfig({ RELAY_HOME: home, HOME: home });
  const { core } = await openCore({ ...config, channels: { ...config.channels, messages: 10 } }, 'server');
  const caller = { tenant: 'acme', keyId: 'k', name: 'w', scopes: ['push', 'pull', 'subscribe', 'threads'] };
  const relay = core.relay(caller, 'http://127.0.0.1:1');
  const body = new TextEncoder().encode('some words '.repeat(100));
  for (let at = 0; ; at++) {
    const { thread_id } = await relay.threads.create({ name: 't' });
    const { ref } = await relay.threads.putArtifact(thread_id, { body, name: 'a.txt' });
    await Promise.all([
      relay.channels.publish('c', at),
      relay.threads.patch(thread_id, { ops: [{ op: 'add', path: '/facts/-', value: { id: 'f', key: 'k', value: at } }] }),
      core.sweepStore(['acme']),
    ]);
    if (at % 3 === 0) await relay.threads.deleteArtifact(thread_id, ref);
    if (at % 3 === 1) await relay.threads.delete(thread_id);
    console.log(at);
  }
`;

test('the sweep corrects a sum that is too high, after some hours', async () => {
  await using relay = await startGuarded({ core: plan() });
  const key = await relay.key();
  const id = await newThread(relay, key);
  await until(() => relay.core.storage.isCounted('acme'));
  const storedBytes = await heldBy(relay.engine, [id], []);
  // Simulate a crash after bytes were counted and before they were written.
  await relay.engine.records.add('ten.acme/storage/written', 10_000);
  assert.equal(await usedOf(relay, key), storedBytes + 10_000);
  await relay.core.sweepStore();
  assert.equal(await usedOf(relay, key), storedBytes + 10_000);
  relay.advance(7 * HOUR);
  await relay.core.sweepStore();
  assert.equal(await usedOf(relay, key), storedBytes);
});

test('a recount corrects a sum that is too high or too low, also after a refusal', async () => {
  await using relay = await startGuarded({ core: plan() });
  const key = await relay.key();
  const id = await newThread(relay, key);
  await until(() => relay.core.storage.isCounted('acme'));
  const storedBytes = await heldBy(relay.engine, [id], []);
  await relay.engine.records.add('ten.acme/storage/freed', 50);
  await relay.core.recount('acme');
  assert.equal(await usedOf(relay, key), storedBytes);
  await relay.engine.records.add('ten.acme/storage/written', ROOM);
  relay.advance(61_000);
  assert.equal((await putArtifact(relay, key, id, 10)).status, 402);
  await until(async () => (await putArtifact(relay, key, id, 10)).status === 201);
});

test('a recount while others write and delete never makes the sum too low', async () => {
  await using relay = await startGuarded({ open: sqlite(), core: plan(10_000_000) });
  const key = await relay.key();
  const ids: string[] = [];
  let busy = true;
  const work = Array.from({ length: 4 }, async (_, i) => {
    for (let at = 0; at < 12; at++) {
      const id = await newThread(relay, key);
      await putArtifact(relay, key, id, 300 + at);
      await relay.ask('POST', `/channels/c${i}`, { key, body: { msg: at } });
      if (at % 2) await relay.ask('DELETE', `/threads/${id}`, { key });
      else ids.push(id);
    }
  });
  const counting = (async () => {
    while (busy) await relay.core.recount('acme');
  })();
  await Promise.all(work);
  busy = false;
  await counting;
  const storedBytes = await heldBy(relay.engine, ids, ['c0', 'c1', 'c2', 'c3']);
  assert.ok((await usedOf(relay, key)) >= storedBytes);
  await relay.core.recount('acme');
  assert.equal(await usedOf(relay, key), storedBytes);
});

test('an old store without a sum is counted once, in the background', async () => {
  await using relay = await startGuarded({ core: plan() });
  const key = await relay.key();
  const id = await newThread(relay, key);
  await putArtifact(relay, key, id, 30_000);
  await relay.ask('POST', '/channels/c', { key, body: { msg: 'x'.repeat(1000) } });
  const storedBytes = await heldBy(relay.engine, [id], ['c']);
  await relay.stop();
  for (const what of ['written', 'freed', 'counted'])
    await relay.engine.records.delete(`ten.acme/storage/${what}`);
  await using later = await startGuarded({ open: () => relay.engine, core: plan() });
  assert.equal((await putArtifact(later, key, id, 100)).status, 201);
  await until(async () => (await putArtifact(later, key, id, 9_000)).status === 402);
  assert.ok((await usedOf(later, key)) > storedBytes);
  await later.core.recount('acme');
  assert.equal(await usedOf(later, key), await heldBy(relay.engine, [id], ['c']));
});
