import assert from 'node:assert/strict';
import { test } from 'node:test';
import { claimOf, openTestCore, readFrom } from '../../../test/channels/core.ts';
import { until } from '../../../test/until.ts';
import { isRelayError } from '../../base/errors.ts';

test('each message goes to one member, under a lease with a token', async () => {
  await using t = openTestCore();
  for (let i = 0; i < 6; i++) await t.relay.channels.publish('c', i);
  const messages: unknown[] = [];
  const end = new AbortController();
  const work = async (name: string) => {
    const relay = t.as(name);
    for await (const message of relay.channels.subscribe('c', { group: 'g', signal: end.signal })) {
      assert.equal(message.attempt, 1);
      assert.ok(message.lease_until! > message.ts);
      messages.push(message.msg);
      await relay.channels.ack('c', 'g', claimOf(message));
      if (messages.length === 6) end.abort();
    }
  };
  await Promise.all([work('ann'), work('bob')]);
  assert.deepEqual(messages.sort(), [0, 1, 2, 3, 4, 5], 'a new group begins with everything there is');
});

test('a member holds one message at a time, or as many as it asked for', async () => {
  await using t = openTestCore();
  for (let i = 0; i < 8; i++) await t.relay.channels.publish('c', i);
  await using one = readFrom(t.relay, 'c', { group: 'one' });
  await one.take(1);
  await using three = readFrom(t.relay, 'c', { group: 'three', prefetch: 3 });
  await three.take(3);
  const { groups } = await t.relay.channels.inspect('c');
  assert.deepEqual(
    groups.map(({ name, backlog, leases }) => [name, backlog, leases.length]),
    [
      ['one', 7, 1],
      ['three', 5, 3],
    ],
  );
});

test('two groups each get everything, and plain subscribers too', async () => {
  await using t = openTestCore();
  for (let i = 0; i < 3; i++) await t.relay.channels.publish('c', i);
  for (const group of ['x', 'y']) {
    await using reader = readFrom(t.relay, 'c', { group, prefetch: 3 });
    assert.deepEqual(
      (await reader.take(3)).map((message) => message.msg),
      [0, 1, 2],
    );
  }
  await using plain = readFrom(t.relay, 'c', { since: 'all' });
  assert.deepEqual(
    (await plain.take(3)).map((message) => message.token),
    [undefined, undefined, undefined],
  );
});

test('a new group can start at any position, and an existing group continues where it was', async () => {
  await using t = openTestCore();
  await t.relay.channels.publish('c', 'old');
  const { seq } = await t.relay.channels.publish('c', 'older');
  await t.relay.channels.publish('c', 'new');
  {
    await using reader = readFrom(t.relay, 'c', { group: 'g', since: seq });
    const [message] = await reader.take(1);
    assert.equal(message!.msg, 'new');
    await t.relay.channels.ack('c', 'g', claimOf(message!));
  }
  await t.relay.channels.publish('c', 'newer');
  await using reader = readFrom(t.relay, 'c', { group: 'g', since: 'all' });
  assert.equal((await reader.take(1))[0]!.msg, 'newer');
});

test('work that was given back goes to another member, and after five attempts to the dead letters', async () => {
  await using t = openTestCore({ retryMs: [] });
  await using a = readFrom(t.as('ann'), 'c', { group: 'g' });
  await using b = readFrom(t.as('bob'), 'c', { group: 'g' });
  const takenBy: string[] = [];
  let next = { a: a.take(1), b: b.take(1) };
  const present = async () => (await t.relay.channels.inspect('c')).groups[0]?.members.length;
  await until(async () => (await present()) === 2);
  const sent = await t.relay.channels.publish('c', 'hard');
  for (let attempt = 1; attempt <= 5; attempt++) {
    const delivery = await Promise.race([
      next.a.then(([message]) => ({ by: 'a' as const, message: message! })),
      next.b.then(([message]) => ({ by: 'b' as const, message: message! })),
    ]);
    takenBy.push(delivery.by);
    assert.equal(delivery.message.attempt, attempt);
    next = { ...next, [delivery.by]: (delivery.by === 'a' ? a : b).take(1) };
    const { seq, dead } = await t.relay.channels.nack('c', 'g', claimOf(delivery.message));
    assert.deepEqual([seq, dead], [sent.seq, attempt === 5]);
  }
  for (let i = 1; i < 5; i++) assert.notEqual(takenBy[i], takenBy[i - 1], 'another one each time');
  await using dead = readFrom(t.relay, 'c.dead', { since: 'all' });
  const [letter] = await dead.take(1);
  assert.deepEqual(
    { msg: letter!.msg, from: letter!.from, dead: letter!.dead },
    {
      msg: 'hard',
      from: 'local',
      dead: { channel: 'c', group: 'g', seq: sent.seq, ts: sent.ts, attempts: 5, reason: 'attempts' },
    },
  );
  assert.deepEqual(
    (await t.relay.channels.list()).channels.map(({ name }) => name),
    ['c', 'c.dead'],
  );
  for (const each of [next.a, next.b]) each.catch(() => {});
});

test('work whose lease expires goes to another member, and the old token is rejected from then on', async () => {
  await using t = openTestCore({ leaseMs: 60_000 });
  await t.relay.channels.publish('c', 'work');
  await using a = readFrom(t.as('ann'), 'c', { group: 'g' });
  const [first] = await a.take(1);
  t.advance(60_001);
  await using b = readFrom(t.as('bob'), 'c', { group: 'g' });
  // Either member may get the message again. In both cases the message has a new token.
  const second = await Promise.race([a.take(1), b.take(1)]).then(([message]) => message!);
  assert.deepEqual([second.seq, second.attempt], [first!.seq, 2]);
  assert.ok(second.token! > first!.token!);
  for (const what of ['ack', 'nack', 'extend'] as const) {
    await assert.rejects(t.relay.channels[what]('c', 'g', claimOf(first!)), (e) =>
      isRelayError(e, 'conflict'),
    );
  }
  await t.relay.channels.ack('c', 'g', claimOf(second));
  await assert.rejects(t.relay.channels.ack('c', 'g', claimOf(first!)), (e) => isRelayError(e, 'conflict'));
});

test('a lease that expires wakes the group by itself', async () => {
  await using t = openTestCore({ leaseMs: 40 });
  await t.relay.channels.publish('c', 'work');
  await using a = readFrom(t.as('ann'), 'c', { group: 'g' });
  const [first, second] = await a.take(2);
  assert.deepEqual([second!.seq, second!.attempt], [first!.seq, 2]);
});

test('extending the lease keeps the work, and an acknowledgement can be repeated', async () => {
  await using t = openTestCore({ leaseMs: 60_000 });
  await t.relay.channels.publish('c', 'work');
  await using a = readFrom(t.relay, 'c', { group: 'g' });
  const [message] = await a.take(1);
  t.advance(40_000);
  const { lease_until } = await t.relay.channels.extend('c', 'g', claimOf(message!));
  assert.ok(lease_until > message!.lease_until!);
  t.advance(40_000);
  const { groups } = await t.relay.channels.inspect('c');
  assert.equal(groups[0]!.leases.length, 1, 'still its own');
  assert.equal(groups[0]!.backlog, 0);
  assert.deepEqual(await t.relay.channels.ack('c', 'g', claimOf(message!)), { seq: message!.seq });
  assert.deepEqual(await t.relay.channels.ack('c', 'g', claimOf(message!)), { seq: message!.seq });
  await assert.rejects(t.relay.channels.nack('c', 'g', claimOf(message!)), (e) =>
    isRelayError(e, 'conflict'),
  );
});

test('an acknowledgement after the lease expired is accepted while no other member has the work', async () => {
  await using t = openTestCore({ leaseMs: 60_000 });
  await t.relay.channels.publish('c', 'work');
  let claim: { seq: number; token: number };
  {
    await using a = readFrom(t.relay, 'c', { group: 'g' });
    claim = claimOf((await a.take(1))[0]!);
  }
  t.advance(120_000);
  await t.relay.channels.ack('c', 'g', claim);
});

test('a member loses work that it gave back, even if no other member has it', async () => {
  await using t = openTestCore();
  await t.relay.channels.publish('c', 'work');
  let claim: { seq: number; token: number };
  {
    await using a = readFrom(t.relay, 'c', { group: 'g' });
    claim = claimOf((await a.take(1))[0]!);
  }
  await t.relay.channels.nack('c', 'g', claim);
  for (const what of ['ack', 'nack', 'extend'] as const) {
    await assert.rejects(t.relay.channels[what]('c', 'g', claim), (e) => isRelayError(e, 'conflict'));
  }
});

test('a message whose member left before seeing it is delivered again at once and does not count as an attempt', async () => {
  await using t = openTestCore({ leaseMs: 600_000 });
  for (let i = 0; i < 3; i++) await t.relay.channels.publish('c', i);
  {
    await using a = readFrom(t.relay, 'c', { group: 'g', prefetch: 3 });
    await a.take(1);
  }
  await t.core.close();
  await using b = readFrom(t.relay, 'c', { group: 'g', prefetch: 3 });
  assert.deepEqual(
    (await b.take(2)).map(({ msg, attempt }) => [msg, attempt]),
    [
      [1, 1],
      [2, 1],
    ],
  );
});

test('of concurrent answers to the same work one is accepted', async () => {
  await using t = openTestCore();
  for (let round = 0; round < 20; round++) {
    await t.relay.channels.publish('c', round);
    await using a = readFrom(t.relay, 'c', {
      group: `g${round}`,
      since: (await t.relay.channels.position('c')) - 1,
    });
    const claim = claimOf((await a.take(1))[0]!);
    const answers = await Promise.allSettled([
      t.relay.channels.nack('c', `g${round}`, claim),
      t.relay.channels.ack('c', `g${round}`, claim),
      t.relay.channels.nack('c', `g${round}`, claim),
    ]);
    assert.equal(answers.filter(({ status }) => status === 'fulfilled').length, 1);
  }
});

test('unknown tokens, messages and groups are rejected', async () => {
  await using t = openTestCore();
  await t.relay.channels.publish('c', 'work');
  await using a = readFrom(t.relay, 'c', { group: 'g' });
  const [message] = await a.take(1);
  const { seq, token } = claimOf(message!);
  for (const claim of [
    { seq, token: token + 1 },
    { seq, token: 0 },
    { seq: seq + 1, token },
    { seq: seq + 1000, token },
  ]) {
    await assert.rejects(t.relay.channels.ack('c', 'g', claim), (e) => isRelayError(e, 'conflict'));
  }
  await assert.rejects(t.relay.channels.ack('c', 'other', { seq, token }), (e) =>
    isRelayError(e, 'not_found'),
  );
  await assert.rejects(t.as('eve', 'other').channels.ack('c', 'g', { seq, token }), (e) =>
    isRelayError(e, 'not_found'),
  );
});
