import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRelayError } from '../../src/base/errors.ts';
import { claimOf, encode, readFrom } from '../channels/core.ts';
import { until } from '../until.ts';
import { DAY, Machine, type Process, SECOND } from './machine.ts';

const isNotFound = (error: unknown) => isRelayError(error, 'not_found');
const isConflict = (error: unknown) => isRelayError(error, 'conflict');

/** Runs the check `see` in each of the processes and in a new one. */
async function inEveryProcess(
  machine: Machine,
  processes: readonly Process[],
  see: (process: Process) => Promise<void>,
): Promise<void> {
  for (const process of processes) await see(process);
  await using later = await machine.start();
  await see(later);
}

test('a pointer lives for its ttl, even if the clock of another process on the home is ahead', async () => {
  await using machine = new Machine();
  const idle = [await machine.start(), await machine.start(), await machine.start(), await machine.start()];
  const ahead = await machine.start({ aheadMs: 2 * SECOND });
  const pusher = await machine.start();
  const { id, expires_at } = await pusher.as('ann').pointers.push({ body: encode('x'), ttl: 60 });
  assert.equal(Date.parse(expires_at), machine.now + 60 * SECOND);
  const committing = [ahead, pusher, ...idle];
  for (let second = 1; second < 60; second++) {
    machine.pass(SECOND);
    await committing[second % committing.length]!.engine.records.put('sys/test', second);
    for (const { engine } of [pusher, ...idle]) assert.equal(engine.now(), machine.now);
  }
  await inEveryProcess(machine, [pusher, ...idle], async ({ as }) => {
    assert.equal((await as('bob').pointers.peek(id)).size, 1);
  });
  machine.pass(SECOND);
  await inEveryProcess(machine, [pusher, ahead, ...idle], ({ as }) =>
    assert.rejects(as('bob').pointers.pull(id), isNotFound),
  );
});

test('a pointer that has not expired survives a clock that is set back and corrected', async () => {
  await using machine = new Machine();
  const process = await machine.start();
  const { id } = await process.as('ann').pointers.push({ body: encode('x'), ttl: 3 * 24 * 3600 });
  for (const ms of [-DAY, DAY, DAY, -DAY]) {
    machine.jump(ms);
    await process.core.sweepStore(['local']);
    await inEveryProcess(machine, [process], async ({ as }) => {
      assert.equal((await as('bob').pointers.peek(id)).size, 1);
    });
  }
});

test('a leased message has one holder and is not stuck when the clock jumps ahead a day', async () => {
  await using machine = new Machine({ channels: { leaseMs: 30 * SECOND } });
  const [one, two] = [await machine.start(), await machine.start()];
  await one.as('ann').channels.publish('c', 'work');
  await using ann = readFrom(one.as('ann'), 'c', { group: 'g' });
  const [firstMessage] = await ann.take(1);
  ann.stop();
  machine.jump(DAY);
  await using bob = readFrom(two.as('bob'), 'c', { group: 'g' });
  const pending = bob.take(1);
  let bobs = false;
  void pending.then(() => {
    bobs = true;
  });
  // The members' timers were set before the clock jumped and would fire too late. So wake the members with messages.
  await until(async () => {
    await one.as('ann').channels.publish('c', 'wake up');
    return bobs;
  });
  const [again] = await pending;
  assert.deepEqual([again!.seq, again!.attempt], [firstMessage!.seq, 2]);
  await assert.rejects(one.as('ann').channels.ack('c', 'g', claimOf(firstMessage!)), isConflict);
  machine.jump(-DAY);
  await assert.rejects(one.as('ann').channels.extend('c', 'g', claimOf(firstMessage!)), isConflict);
  await two.as('bob').channels.ack('c', 'g', claimOf(again!));
});

test('a repeated request returns the same pointer until it expires, and never an expired one', async () => {
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
  await assert.rejects(process.as('ann').pointers.pull(id), isNotFound);
  assert.equal((await push('other')).size, 5, 'the key is free again');
  machine.jump(-3 * DAY);
  await inEveryProcess(machine, [process], async ({ as }) => {
    assert.equal((await as('ann').pointers.peek(id)).size, 5);
  });
});

test('messages and receipts written while the clock jumps are all kept, in order', async () => {
  await using machine = new Machine({ channels: { retentionMs: 7 * DAY } });
  const process = await machine.start();
  const relay = process.as('ann');
  const { id } = await relay.pointers.push({ body: encode('x'), ttl: 6 * 24 * 3600, channel: 'c' });
  const seqs: number[] = [];
  for (const ms of [0, DAY, -DAY, -DAY, DAY]) {
    machine.jump(ms);
    machine.pass(SECOND);
    const { seq, ts } = await relay.channels.publish('c', ms);
    seqs.push(seq);
    assert.equal(ts, machine.now);
    await process.as(`reader${seqs.length}`).pointers.pull(id);
    await process.core.receipts.flush();
    await process.core.sweepStore(['local']);
  }
  await using all = readFrom(relay, 'c', { since: 'all' });
  const messages = await all.take(6);
  assert.deepEqual(
    messages.slice(1).map(({ seq }) => seq),
    seqs,
  );
  const { receipts } = (await relay.receipts.get(id)) as unknown as { receipts: unknown[] };
  assert.ok(receipts.length >= 6);
});

test('the sweep does not delete the body of a push in progress', async () => {
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

test("a store with the clock record of an older version opens and uses the machine's clock", async () => {
  await using machine = new Machine();
  const before = await machine.start();
  await before.engine.records.put('sys/clock', machine.now + DAY);
  await before[Symbol.asyncDispose]();
  const { engine, as } = await machine.start();
  assert.equal(engine.now(), machine.now);
  const { id, expires_at } = await as('ann').pointers.push({ body: encode('x'), ttl: 60 });
  assert.equal(Date.parse(expires_at), machine.now + 60 * SECOND);
  assert.equal((await as('bob').pointers.peek(id)).size, 1);
  for await (const { key } of engine.moving.exportRecords()) assert.notEqual(key, 'sys/clock');
});
