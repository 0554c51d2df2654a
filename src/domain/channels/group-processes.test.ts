import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BASE, callerNamed, claimOf, openTestCore, readFrom } from '../../../test/channels/core.ts';
import { until } from '../../../test/until.ts';
import type { Message } from '../../contract/channels.ts';

test('processes share a group, and every message is done once', async () => {
  await using t = openTestCore();
  const count = 120;
  for (let i = 0; i < count; i++) await t.relay.channels.publish('c', i);
  const done: unknown[] = [];
  const end = new AbortController();
  const workers = Array.from({ length: 4 }, async (_, i) => {
    const relay = t.another().relay(callerNamed(`w${i}`), BASE);
    for await (const message of relay.channels.subscribe('c', {
      group: 'g',
      prefetch: 2,
      signal: end.signal,
    })) {
      await relay.channels.ack('c', 'g', claimOf(message));
      done.push(message.msg);
      if (done.length === count) end.abort();
    }
  });
  await Promise.all(workers);
  assert.deepEqual(
    done.sort((x, y) => Number(x) - Number(y)),
    Array.from({ length: count }, (_, i) => i),
  );
  const { groups } = await t.relay.channels.inspect('c');
  assert.deepEqual([groups[0]!.backlog, groups[0]!.leases.length], [0, 0]);
});

test('the log of a group stays short, and a process that opens it later has the whole state', async () => {
  await using t = openTestCore();
  const { relay } = t;
  await using a = readFrom(relay, 'c', { group: 'g' });
  let last: Message | undefined;
  for (let i = 0; i < 400; i++) {
    await relay.channels.publish('c', i);
    [last] = await a.take(1);
    await relay.channels.ack('c', 'g', claimOf(last!));
  }
  const { count } = await t.engine.logs.info('grp.local.c.g');
  assert.ok(count < 300, `${count} entries for 800 steps`);
  await relay.channels.publish('c', 'open');
  const [open] = await a.take(1);
  const elsewhere = t.another().relay(callerNamed('b'), BASE);
  const { groups } = await elsewhere.channels.inspect('c');
  assert.deepEqual(
    groups[0]!.leases.map(({ seq, token }) => ({ seq, token })),
    [claimOf(open!)],
  );
  await elsewhere.channels.ack('c', 'g', claimOf(last!));
  await elsewhere.channels.ack('c', 'g', claimOf(open!));
});

test('a process whose log position was trimmed uses the snapshot of another process', async () => {
  await using t = openTestCore();
  const behind = t.another().relay(callerNamed('behind'), BASE);
  await t.relay.channels.publish('c', 'first');
  await using a = readFrom(t.relay, 'c', { group: 'g' });
  let [last] = await a.take(1);
  assert.equal((await behind.channels.inspect('c')).groups[0]!.leases.length, 1);
  for (let i = 0; i < 300; i++) {
    await t.relay.channels.ack('c', 'g', claimOf(last!));
    await t.relay.channels.publish('c', i);
    [last] = await a.take(1);
  }
  const { leases, backlog } = (await behind.channels.inspect('c')).groups[0]!;
  assert.deepEqual(
    [leases.map(({ seq }) => seq), backlog],
    [[last!.seq], 0],
    'it missed nothing of what is gone',
  );
  await behind.channels.ack('c', 'g', claimOf(last!));
});

test('work that is given back in one process wakes a waiting member in another', async () => {
  await using t = openTestCore({ leaseMs: 600_000, retryMs: [] });
  await t.relay.channels.publish('c', 'work');
  await using first = readFrom(t.relay, 'c', { group: 'g' });
  const claim = claimOf((await first.take(1))[0]!);
  const elsewhere = t.another().relay(callerNamed('b'), BASE);
  await using second = readFrom(elsewhere, 'c', { group: 'g' });
  const waiting = second.take(1);
  await until(async () => (await t.relay.channels.inspect('c')).groups[0]!.members.length === 2);
  first.stop();
  await t.relay.channels.nack('c', 'g', claim);
  assert.deepEqual(
    (await waiting).map(({ msg, attempt }) => [msg, attempt]),
    [['work', 2]],
  );
});

test('a group that was removed and created again elsewhere is not mistaken for the old one', async () => {
  await using t = openTestCore();
  const elsewhere = t.another();
  const other = elsewhere.relay(callerNamed('b'), BASE);
  for (let i = 0; i < 3; i++) await t.relay.channels.publish('c', i);
  {
    await using first = readFrom(t.relay, 'c', { group: 'g', prefetch: 3 });
    await first.take(3);
  }
  assert.equal((await other.channels.inspect('c')).groups[0]!.leases.length, 3);
  await t.core.close();
  await t.relay.channels.removeGroup('c', 'g');
  await using again = readFrom(t.relay, 'c', { group: 'g' });
  const [message] = await again.take(1);
  assert.deepEqual([message!.msg, message!.attempt], [0, 1]);
  const { leases, backlog } = (await other.channels.inspect('c')).groups[0]!;
  assert.deepEqual([leases.map(({ seq }) => seq), backlog], [[message!.seq], 2]);
  await other.channels.ack('c', 'g', claimOf(message!));
  assert.equal((await again.take(1))[0]!.msg, 1);
});
