import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BASE, callerNamed, claimOf, encode, openTestCore, readFrom } from '../../../test/channels/core.ts';
import { until } from '../../../test/until.ts';
import { isRelayError } from '../../base/errors.ts';

test('unclaimed work is kept beyond the message limit, and becomes a dead letter when its time is over', async () => {
  await using t = openTestCore({ messages: 16, retentionMs: 60_000 });
  await t.relay.channels.publish('c', 'seen');
  {
    await using a = readFrom(t.relay, 'c', { group: 'g' });
    const [message] = await a.take(1);
    await t.relay.channels.ack('c', 'g', claimOf(message!));
  }
  for (let i = 0; i < 100; i++) await t.relay.channels.publish('c', i);
  await t.core.sweepStore();
  assert.equal((await t.relay.channels.inspect('c')).groups[0]!.backlog, 100);
  t.advance(61_000);
  await t.core.sweepStore();
  assert.equal((await t.relay.channels.inspect('c')).groups[0]!.backlog, 0);
  await using dead = readFrom(t.relay, 'c.dead', { since: 'all' });
  const letters = await dead.take(16);
  assert.ok(letters.every((letter) => letter.dead!.reason === 'age' && letter.dead!.attempts === 0));
});

test('leased work is kept even if its time is over', async () => {
  await using t = openTestCore({ retentionMs: 60_000, leaseMs: 600_000 });
  await t.relay.channels.publish('c', 'long');
  await using a = readFrom(t.relay, 'c', { group: 'g' });
  const [message] = await a.take(1);
  t.advance(120_000);
  await t.core.sweepStore();
  await t.relay.channels.ack('c', 'g', claimOf(message!));
});

test('a queued task keeps its pointer alive until it is done, and no longer', async () => {
  await using t = openTestCore({ retentionMs: 3_600_000, leaseMs: 600_000 });
  {
    await using a = readFrom(t.relay, 'tasks', { group: 'g' });
    const waiting = a.take(1);
    await t.relay.channels.publish('tasks', 'hello');
    await t.relay.channels.ack('tasks', 'g', claimOf((await waiting)[0]!));
  }
  const pushed = await t.relay.pointers.push({ body: encode('job'), channel: 'tasks', ttl: 60 });
  const other = await t.relay.pointers.push({ body: encode('news'), channel: 'news', ttl: 60 });
  t.advance(600_000);
  await t.engine.sweep();
  await assert.rejects(t.relay.pointers.peek(other.id), (e) => isRelayError(e, 'not_found'));
  await using a = readFrom(t.relay, 'tasks', { group: 'g' });
  const [task] = await a.take(1);
  assert.ok(task!.url!.endsWith(pushed.id));
  assert.equal((await t.relay.pointers.pull(pushed.id)).about.size, 3);
  await t.relay.channels.ack('tasks', 'g', claimOf(task!));
  await t.core.background.settle();
  await assert.rejects(t.relay.pointers.peek(pushed.id), (e) => isRelayError(e, 'not_found'));
});

test('a finished task expires after its requested time to live', async () => {
  await using t = openTestCore({ retentionMs: 3_600_000 });
  await using a = readFrom(t.relay, 'tasks', { group: 'g' });
  const waiting = a.take(1);
  await until(async () => (await t.relay.channels.inspect('tasks')).groups.length > 0);
  const pushed = await t.relay.pointers.push({ body: encode('job'), channel: 'tasks', ttl: 600 });
  await t.relay.channels.ack('tasks', 'g', claimOf((await waiting)[0]!));
  await t.core.background.settle();
  t.advance(599_000);
  await t.relay.pointers.peek(pushed.id);
  t.advance(2_000);
  await assert.rejects(t.relay.pointers.peek(pushed.id), (e) => isRelayError(e, 'not_found'));
});

test('a message with an expired pointer is not delivered and becomes a dead letter with the reason', async () => {
  await using t = openTestCore();
  const revoked = await t.relay.pointers.push({ body: encode('x'), channel: 'c' });
  await t.relay.pointers.delete(revoked.id);
  await t.relay.pointers.push({ body: encode('y'), channel: 'c' });
  await using a = readFrom(t.relay, 'c', { group: 'g' });
  const [message] = await a.take(1);
  assert.ok(!message!.url!.endsWith(revoked.id));
  await using dead = readFrom(t.relay, 'c.dead', { since: 'all' });
  assert.equal((await dead.take(1))[0]!.dead!.reason, 'gone');
});

test('inspecting shows the members of every process, and a group with members cannot be removed', async () => {
  await using t = openTestCore();
  await using a = readFrom(t.as('ann'), 'c', { group: 'g' });
  const core = t.another();
  await using b = readFrom(core.relay(callerNamed('bob'), BASE), 'c', { group: 'g' });
  const takes = [a.take(1), b.take(1)];
  await t.relay.channels.publish('c', 1);
  await t.relay.channels.publish('c', 2);
  await Promise.all(takes);
  const names = async () =>
    (await t.relay.channels.inspect('c')).groups[0]!.members.map(({ name }) => name).sort();
  await until(async () => (await names()).length >= 2);
  assert.deepEqual(await names(), ['ann', 'bob']);
  await assert.rejects(t.relay.channels.removeGroup('c', 'g'), (e) => isRelayError(e, 'conflict'));
});

test('a group can be removed, and starts again under the same name', async () => {
  await using t = openTestCore();
  await t.relay.channels.publish('c', 1);
  {
    await using a = readFrom(t.relay, 'c', { group: 'g' });
    await a.take(1);
  }
  await t.core.close();
  await t.relay.channels.removeGroup('c', 'g');
  assert.deepEqual((await t.relay.channels.inspect('c')).groups, []);
  await assert.rejects(t.relay.channels.removeGroup('c', 'g'), (e) => isRelayError(e, 'not_found'));
  await using again = readFrom(t.relay, 'c', { group: 'g' });
  const [message] = await again.take(1);
  assert.deepEqual([message!.msg, message!.attempt], [1, 1]);
});

test('a group that was unused for a week is deleted', async () => {
  await using t = openTestCore();
  {
    await using a = readFrom(t.relay, 'c', { group: 'g' });
    const waiting = a.take(1);
    await t.relay.channels.publish('c', 1);
    await t.relay.channels.ack('c', 'g', claimOf((await waiting)[0]!));
  }
  await t.core.close();
  t.advance(8 * 86_400_000);
  await t.core.sweepStore();
  assert.deepEqual((await t.relay.channels.inspect('c')).groups, []);
});

test('failed work from a dead-letter channel stays there and creates no other dead letter', async () => {
  await using t = openTestCore({ attempts: 1 });
  await t.relay.channels.publish('c.dead', 'x');
  await using a = readFrom(t.relay, 'c.dead', { group: 'g' });
  const [message] = await a.take(1);
  assert.deepEqual(await t.relay.channels.nack('c.dead', 'g', claimOf(message!)), {
    seq: message!.seq,
    dead: true,
  });
  assert.deepEqual(
    (await t.relay.channels.list()).channels.map(({ name, messages }) => [name, messages]),
    [['c.dead', 1]],
  );
});

test('a channel with the longest name has a dead-letter channel', async () => {
  await using t = openTestCore({ attempts: 1 });
  const channel = '😀'.repeat(256);
  await t.relay.channels.publish(channel, 'x');
  await using a = readFrom(t.relay, channel, { group: 'a.b/c%' });
  const [message] = await a.take(1);
  await t.relay.channels.nack(channel, 'a.b/c%', claimOf(message!));
  await using dead = readFrom(t.relay, `${channel}.dead`, { since: 'all' });
  assert.equal((await dead.take(1))[0]!.dead!.channel, channel);
});

test('a new group starts with the messages that are still kept, and creates no dead letters', async () => {
  await using t = openTestCore({ retentionMs: 60_000 });
  await t.relay.channels.publish('c', 'old');
  t.advance(61_000);
  await t.relay.channels.publish('c', 'new');
  await using a = readFrom(t.relay, 'c', { group: 'g' });
  assert.equal((await a.take(1))[0]!.msg, 'new');
  assert.deepEqual(
    (await t.relay.channels.list()).channels.map(({ name }) => name),
    ['c'],
  );
});

test('a crash between writing a dead letter and completing the work leaves one letter, not two', async () => {
  await using t = openTestCore({ attempts: 1 });
  await t.relay.channels.publish('c', 'hard');
  let claim: { seq: number; token: number };
  {
    await using a = readFrom(t.relay, 'c', { group: 'g' });
    claim = claimOf((await a.take(1))[0]!);
  }
  const { append } = t.engine.logs;
  let written = false;
  t.engine.logs.append = async (stream, data, o) => {
    if (written && stream.startsWith('grp.')) throw new Error('the power went');
    written ||= stream === 'chn.local.c.dead';
    return append.call(t.engine.logs, stream, data, o);
  };
  await assert.rejects(t.relay.channels.nack('c', 'g', claim), /the power went/);
  t.engine.logs.append = append;
  await using b = readFrom(t.relay, 'c', { group: 'g' });
  const next = b.take(1);
  await t.relay.channels.publish('c', 'next');
  assert.equal((await next)[0]!.msg, 'next');
  const { messages } = await t.relay.channels.inspect('c.dead');
  assert.equal(messages, 1);
  assert.equal((await t.relay.channels.inspect('c')).groups[0]!.backlog, 0);
});

test('when two processes trim a channel at once, it keeps the right number of messages', async () => {
  await using t = openTestCore({ messages: 16 });
  for (let i = 0; i < 40; i++) await t.engine.logs.append('chn.local.c', { msg: i, from: 'x' });
  const { info } = t.engine.logs;
  const counted = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  // Delay the first trim after it has counted the messages.
  t.engine.logs.info = async (stream) => {
    t.engine.logs.info = info;
    const found = await info.call(t.engine.logs, stream);
    counted.resolve();
    await held.promise;
    return found;
  };
  const first = t.core.channels.sweepChannel('local', 'c');
  await counted.promise;
  await t.core.channels.sweepChannel('local', 'c');
  held.resolve();
  await first;
  assert.equal((await t.engine.logs.info('chn.local.c')).count, 16);
});

test('a group that is created while its channel is trimmed keeps later messages', async () => {
  await using t = openTestCore({ messages: 4 });
  for (let i = 0; i < 8; i++) await t.engine.logs.append('chn.local.c', { msg: i, from: 'x' });
  const { list } = t.engine.records;
  let listed = () => {};
  const looked = new Promise<void>((resolve) => {
    listed = resolve;
  });
  let goOn = () => {};
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  // Delay the trim after it has found no groups.
  t.engine.records.list = async (prefix, o) => {
    const page = await list.call(t.engine.records, prefix, o);
    if (!prefix.startsWith('ten.local/grp/')) return page;
    listed();
    await held;
    return page;
  };
  await t.relay.channels.publish('c', 8);
  await looked;
  t.engine.records.list = list;
  {
    await using a = readFrom(t.relay, 'c', { group: 'g', since: await t.relay.channels.position('c') });
    const first = a.take(1);
    await t.relay.channels.publish('c', 'work');
    await first;
  }
  for (let i = 0; i < 20; i++) await t.engine.logs.append('chn.local.c', { msg: i, from: 'x' });
  goOn();
  await t.core.close();
  assert.equal((await t.relay.channels.inspect('c')).groups[0]!.backlog, 20);
});
