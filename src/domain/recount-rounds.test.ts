import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BASE, callerNamed, MovedClock } from '../../test/channels/core.ts';
import { HOUR, plan } from '../../test/keys/stored-bytes.ts';
import { ownTextWork } from '../app/store/own-text-work.ts';
import { openMemory } from '../engines/memory/engine.ts';
import { RecountRounds } from './recount-rounds.ts';
import { type CoreOptions, RelayCore } from './relay-core.ts';
import { listParts } from './storage-parts.ts';

const MOST = 2;
const bytes = (text: string) => new TextEncoder().encode(text);

/** A tenant with a limit, and a core that is made anew for each step, as where nothing lives on in between. */
function open(o: CoreOptions = {}) {
  const env = new MovedClock();
  const engine = openMemory({ env });
  const recount = async () => {};
  const core = () =>
    new RelayCore({ engine, env, texts: ownTextWork }, { auth: 'keys', ...plan(1_000_000), recount, ...o });
  const relay = core().relay(callerNamed('ada', 'acme'), BASE);
  const rounds = () => new RecountRounds(core());
  const run = async () => {
    let measured = 0;
    const measure = (part: Parameters<RelayCore['bytesOf']>[0]) => {
      measured++;
      return core().bytesOf(part);
    };
    const next = await rounds().run('acme', { most: MOST, measure });
    assert.ok(measured <= MOST, `${measured} parts in a round`);
    return next;
  };
  return {
    env,
    engine,
    relay,
    core,
    rounds,
    run,
    used: () => core().storage.used('acme'),
    /** What is there, whoever has counted it. */
    async held() {
      const parts = await listParts(engine.records, 'acme', { after: '', most: 1000 });
      const sizes = await Promise.all(parts.map(({ part }) => core().bytesOf(part)));
      return sizes.reduce((sum, size) => sum + size, 0);
    },
    /** As a crash leaves it: counted, and never written. */
    miscount: () => engine.records.add('ten.acme/storage/written', 10_000),
    /** To its end, with something else going on before each round. */
    async recount(meanwhile: () => Promise<unknown> = async () => {}) {
      await rounds().begin('acme');
      for (let round = 1; ; round++) {
        await meanwhile();
        const next = await run();
        if (next === null || next > env.now() + HOUR) return round;
      }
    },
    async write() {
      const { thread_id } = await relay.threads.create({ name: 'some words' });
      await relay.threads.putArtifact(thread_id, { body: bytes('x'.repeat(500)), name: 'a.txt' });
      await relay.channels.publish(`c/${thread_id}`, 'a message');
      await relay.files.put(`s-${thread_id}`, 'a/b.txt', { body: bytes('y'.repeat(300)) });
      return thread_id;
    },
  };
}

test('some parts are measured in each round, and all of them come to what is there', async () => {
  const t = open();
  for (let at = 0; at < 3; at++) await t.write();
  const held = await t.held();
  assert.equal(await t.used(), held);
  await t.miscount();
  assert.equal(await t.recount(), 6, 'five rounds for nine parts, and one to conclude');
  assert.equal(await t.used(), held);
  await t.engine.records.add('ten.acme/storage/freed', 500);
  await t.recount();
  assert.equal(await t.used(), held, 'a sum that is too low is put right too');
});

test('what is written and deleted between two rounds never makes the sum too low', async () => {
  const t = open();
  const ids: string[] = [];
  for (let at = 0; at < 4; at++) ids.push(await t.write());
  await t.miscount();
  let step = 0;
  await t.recount(async () => {
    if (step++ % 2) await t.relay.threads.delete(ids.shift()!);
    else ids.push(await t.write());
    assert.ok((await t.used()) >= (await t.held()));
  });
  assert.ok((await t.used()) >= (await t.held()));
  await t.recount();
  assert.equal(await t.used(), await t.held());
});

test('a thread that expires before housekeeping has removed it is freed once', async () => {
  const t = open();
  await t.relay.threads.create({ name: 'short', ttl: 60 });
  await t.write();
  await t.rounds().begin('acme');
  t.env.shift += 61_000;
  await t.recount();
  await t.core().tidySome();
  assert.equal(await t.used(), await t.held());
});

test('one is due after hours in which something was counted, and none where there is no limit', async () => {
  const t = open();
  await t.write();
  await t.recount();
  assert.equal(await t.run(), null, 'nothing was counted since');
  await t.miscount();
  assert.ok(Math.abs((await t.run())! - t.env.now() - 6 * HOUR) < 60_000);
  t.env.shift += 7 * HOUR;
  assert.ok((await t.run())! <= t.env.now() + 5_000, 'it begins');
  await t.recount();
  assert.equal(await t.used(), await t.held());
  const unlimited = open({ defaultPlan: 'unlimited' });
  await unlimited.write();
  assert.equal(await unlimited.run(), null);
});
