import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRelayError } from '../../src/base/errors.ts';
import { claimOf, encode, readFrom } from '../channels/core.ts';
import { until } from '../until.ts';
import { DAY, HOUR, Machine, OPERATOR, type Process, SECOND } from './machine.ts';

const gone = (error: unknown) => isRelayError(error, 'not_found');
const conflict = (error: unknown) => isRelayError(error, 'conflict');

/** The process itself, another one that was idle meanwhile, and one that is started now: as they all must see it. */
async function everywhere(
  machine: Machine,
  processes: readonly Process[],
  see: (process: Process) => Promise<void>,
): Promise<void> {
  for (const process of processes) await see(process);
  await using later = await machine.start();
  await see(later);
}

test('a pointer that has expired stays so when the clock goes back a day', async () => {
  await using machine = new Machine();
  const [first, idle] = [await machine.start(), await machine.start()];
  const { id } = await first.as('ann').pointers.push({ body: encode('x'), ttl: 60 });
  await idle.as('bob').pointers.peek(id);
  machine.jump(DAY);
  await assert.rejects(first.as('ann').pointers.pull(id), gone);
  await first.as('ann').pointers.push({ body: encode('y') });
  machine.jump(-DAY);
  machine.pass(SECOND);
  await everywhere(machine, [first, idle], ({ as }) => assert.rejects(as('bob').pointers.pull(id), gone));
  machine.pass(HOUR);
  await everywhere(machine, [first, idle], ({ as }) => assert.rejects(as('bob').pointers.pull(id), gone));
});

test('what expired in a server that wrote nothing more stays so after it was stopped and the clock set back', async () => {
  await using machine = new Machine();
  const first = await machine.start();
  const { id } = await first.as('ann').pointers.push({ body: encode('x'), ttl: 60 });
  machine.pass(HOUR);
  await first[Symbol.asyncDispose]();
  machine.jump(-DAY);
  await everywhere(machine, [], ({ as }) => assert.rejects(as('bob').pointers.pull(id), gone));
});

test('a pointer that has not expired survives a clock that goes back and comes right again', async () => {
  await using machine = new Machine();
  const process = await machine.start();
  const { id } = await process.as('ann').pointers.push({ body: encode('x'), ttl: 3 * 24 * 3600 });
  for (const ms of [-DAY, DAY, DAY, -DAY]) {
    machine.jump(ms);
    await process.core.tidy(['local']);
    await everywhere(machine, [process], async ({ as }) => {
      assert.equal((await as('bob').pointers.peek(id)).size, 1);
    });
  }
});

test('a clock that jumps to and fro many times does not run away with the time of the store', async () => {
  await using machine = new Machine();
  const process = await machine.start();
  machine.jump(DAY);
  const { id } = await process.as('ann').pointers.push({ body: encode('x'), ttl: 3 * 24 * 3600 });
  machine.jump(-2 * DAY);
  for (let round = 0; round < 40; round++) {
    for (const ms of [DAY, -DAY]) {
      machine.jump(ms);
      assert.equal((await process.as('bob').pointers.peek(id)).size, 1);
    }
  }
});

test('a key that has expired or was replaced stays so when the clock goes back a day', async () => {
  await using machine = new Machine({ auth: 'keys' });
  const [first, idle] = [await machine.start(), await machine.start()];
  const { keys } = first.core;
  const short = await keys.create(OPERATOR, { name: 'short', expires_in: 60 });
  const old = await keys.create(OPERATOR, { name: 'old' });
  const fresh = await keys.rotate(OPERATOR, old.id, { grace: 60 });
  assert.ok((await idle.core.keys.authenticate(short.key)) && (await idle.core.keys.authenticate(old.key)));
  machine.pass(61 * SECOND);
  assert.equal(await keys.authenticate(old.key), null);
  await keys.create(OPERATOR, { name: 'another' });
  for (const ms of [-DAY, DAY, -DAY]) {
    machine.jump(ms);
    await everywhere(machine, [first, idle], async ({ core }) => {
      assert.equal(await core.keys.authenticate(short.key), null);
      assert.equal(await core.keys.authenticate(old.key), null);
      assert.ok(await core.keys.authenticate(fresh.key));
    });
  }
});

for (const [way, ms] of [
  ['back', -DAY],
  ['forth', DAY],
] as const) {
  test(`a message has one holder and is not stuck when the clock goes ${way} a day`, async () => {
    await using machine = new Machine({ channels: { leaseMs: 30 * SECOND } });
    const [one, two] = [await machine.start(), await machine.start()];
    await one.as('ann').channels.publish('c', 'work');
    await using ann = readFrom(one.as('ann'), 'c', { group: 'g' });
    const [held] = await ann.take(1);
    ann.stop();
    machine.jump(ms);
    await using bob = readFrom(two.as('bob'), 'c', { group: 'g' });
    const taken = bob.take(1);
    let bobs = false;
    void taken.then(() => {
      bobs = true;
    });
    if (way === 'back') {
      machine.pass(10 * SECOND);
      await one.as('ann').channels.publish('other', 'wakes nobody here');
      const { groups } = await two.as('bob').channels.inspect('c');
      assert.deepEqual([bobs, groups[0]!.leases.length], [false, 1], 'it is still under its lease');
      machine.pass(60 * SECOND);
    }
    // Whatever timers were set by the old clock, the next thing that happens in the channel wakes the members.
    await until(async () => {
      await one.as('ann').channels.publish('c', 'wake up');
      return bobs;
    });
    const [again] = await taken;
    assert.deepEqual([again!.seq, again!.attempt], [held!.seq, 2]);
    await assert.rejects(one.as('ann').channels.ack('c', 'g', claimOf(held!)), conflict);
    machine.jump(-ms);
    await assert.rejects(one.as('ann').channels.extend('c', 'g', claimOf(held!)), conflict);
    await two.as('bob').channels.ack('c', 'g', claimOf(again!));
  });
}

test('the lease of a thread has one holder, and ends, when the clock goes back a day', async () => {
  await using machine = new Machine();
  const [one, two] = [await machine.start(), await machine.start()];
  const { thread_id: id } = await one.as('ann').threads.create({ name: 't' });
  const anns = { token: 'a', holder: 'ann', ttl: 60 };
  const bobs = { token: 'b', holder: 'bob', ttl: 60 };
  assert.ok((await one.as('ann').threads.hold(id, anns)).granted);
  machine.jump(-DAY);
  assert.equal((await two.as('bob').threads.hold(id, bobs)).granted, false);
  machine.pass(3 * 60 * SECOND);
  assert.ok((await two.as('bob').threads.hold(id, bobs)).granted, 'it has lapsed');
  assert.equal((await one.as('ann').threads.hold(id, { ...anns, renew: true })).granted, false);
  machine.jump(DAY);
  machine.jump(-DAY);
  assert.equal((await one.as('ann').threads.hold(id, { ...anns, renew: true })).granted, false);
});

test('a ticket is good once and for its time, whatever the clock does', async () => {
  await using machine = new Machine();
  const [one, two] = [await machine.start(), await machine.start()];
  const late = await one.as('ann').channels.ticket();
  machine.pass(40 * SECOND);
  await one.as('ann').channels.publish('c', 1);
  machine.jump(-DAY);
  assert.equal(await two.core.channels.redeem(late.ticket), null);
  const good = await one.as('ann').channels.ticket();
  assert.ok(await two.core.channels.redeem(good.ticket));
  assert.equal(await one.core.channels.redeem(good.ticket), null);
  const unused = await one.as('ann').channels.ticket();
  machine.pass(2 * 60 * SECOND);
  assert.equal(await two.core.channels.redeem(unused.ticket), null, 'it has ended meanwhile');
});

test('a repeated request is the same one while its pointer lasts, and never brings an expired one back', async () => {
  await using machine = new Machine();
  const process = await machine.start();
  const push = (body: string) =>
    process.as('ann').pointers.push({ body: encode(body), ttl: 2 * 24 * 3600, idempotency_key: 'k' });
  const { id } = await push('x');
  for (const ms of [-DAY, DAY, DAY, -DAY]) {
    machine.jump(ms);
    assert.equal((await push('x')).id, id);
  }
  machine.jump(3 * DAY);
  await assert.rejects(process.as('ann').pointers.pull(id), gone);
  assert.equal((await push('other')).size, 5, 'the key is free again');
  machine.jump(-3 * DAY);
  await everywhere(machine, [process], async ({ as }) => {
    assert.equal((await as('ann').pointers.peek(id)).size, 5);
  });
});

test('receipts and messages are in the order of their times, and nothing of them is lost', async () => {
  await using machine = new Machine({ channels: { retentionMs: 7 * DAY } });
  const process = await machine.start();
  const relay = process.as('ann');
  const { id } = await relay.pointers.push({ body: encode('x'), ttl: 6 * 24 * 3600, channel: 'c' });
  const seqs: number[] = [];
  const times: number[] = [];
  for (const ms of [0, DAY, -DAY, -DAY, DAY]) {
    machine.jump(ms);
    machine.pass(SECOND);
    const { seq, ts } = await relay.channels.publish('c', ms);
    seqs.push(seq);
    times.push(ts);
    await process.as(`reader${seqs.length}`).pointers.pull(id);
    await process.core.receipts.flush();
    await process.core.tidy(['local']);
  }
  assert.deepEqual(
    times,
    times.toSorted((a, b) => a - b),
  );
  await using all = readFrom(relay, 'c', { since: 'all' });
  const messages = await all.take(6);
  assert.deepEqual(
    messages.slice(1).map(({ seq }) => seq),
    seqs,
  );
  await using some = readFrom(relay, 'c', { since: times[2]! });
  const from = seqs.filter((_, i) => times[i]! >= times[2]!);
  assert.deepEqual(
    (await some.take(from.length)).map(({ seq }) => seq),
    from,
  );
  const { receipts } = (await relay.receipts.get(id)) as unknown as { receipts: { at: string }[] };
  const stamps = receipts.map(({ at }) => at);
  assert.deepEqual(stamps, stamps.toSorted());
  assert.ok(stamps.length >= 6);
});

test('a month that is over does not come back with what was left of its plan', async () => {
  const plan = { pushes: 1, pulls: null, keys: 5, payloadBytes: 100, ttlMs: 90 * DAY };
  await using machine = new Machine({ auth: 'keys', plans: { tiny: plan }, defaultPlan: 'tiny' });
  const [first, idle] = [await machine.start(), await machine.start()];
  await idle.engine.usage();
  machine.jump(Date.UTC(2026, 11, 1, 1) - machine.now);
  await first.as('ann', 'acme').pointers.push({ body: encode('x') });
  machine.jump(-DAY);
  await everywhere(machine, [first, idle], async ({ as }) => {
    await assert.rejects(as('ann', 'acme').pointers.push({ body: encode('y') }), (error) =>
      isRelayError(error, 'over_quota'),
    );
    assert.equal((await as('ann', 'acme').usage.get()).month, '2026-12');
  });
});

test('a body on its way is not swept away as a left-over and acknowledged all the same', async () => {
  await using machine = new Machine();
  const process = await machine.start();
  let send = (_: Uint8Array | null) => {};
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      send = (bytes) => (bytes ? controller.enqueue(bytes) : controller.close());
    },
  });
  const pushing = process.as('ann').pointers.push({ body });
  const outcome = pushing.then(
    ({ id }) => id,
    (error: unknown) => error,
  );
  for (let i = 0; i < 8; i++) send(new Uint8Array(256 * 1024).fill(i));
  await until(async () => (await process.engine.usage()).diskBytes > 1024 * 1024);
  machine.jump(Date.now() + DAY - machine.now);
  await process.engine.sweep();
  send(null);
  const id = await outcome;
  if (typeof id !== 'string') return assert.ok(isRelayError(id, 'busy'), String(id));
  const { body: pulled } = await process.as('ann').pointers.pull(id);
  assert.equal((await new Response(pulled as BodyInit).arrayBuffer()).byteLength, 8 * 256 * 1024);
});

test('the time of the store goes on while the clock is behind, and meets it again', async () => {
  await using machine = new Machine();
  const { engine } = await machine.start();
  const before = engine.now();
  machine.jump(-HOUR);
  assert.equal(engine.now(), before);
  machine.pass(HOUR);
  assert.equal(engine.now(), before + HOUR / 2);
  machine.pass(HOUR);
  assert.equal(engine.now(), machine.now);
  machine.jump(DAY);
  assert.equal(engine.now(), machine.now);
});
