import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BASE, encode, openTestCore, readFrom } from '../../../test/channels/core.ts';
import { until } from '../../../test/until.ts';
import { isRelayError } from '../../base/errors.ts';

test('a subscriber gets all later messages, pointers and signals alike', async () => {
  await using t = openTestCore();
  await t.relay.channels.publish('c', 'before');
  const since = await t.relay.channels.position('c');
  await using reader = readFrom(t.relay, 'c', { since });
  const pushed = await t.relay.pointers.push({ body: encode('x'), channel: 'c', metadata: { n: 1 } });
  const published = await t.as('bob').channels.publish('c', { done: true });
  const [first, second] = await reader.take(2);
  assert.deepEqual(first, {
    url: `${BASE}/pull/${pushed.id}`,
    ts: first!.ts,
    seq: first!.seq,
    from: 'local',
    metadata: { n: 1 },
  });
  assert.deepEqual(second, { msg: { done: true }, ts: published.ts, seq: published.seq, from: 'bob' });
  assert.ok(second!.seq > first!.seq);
});

test('since accepts "all", a sequence number, a time in ms and an ISO 8601 time', async () => {
  await using t = openTestCore();
  const sent = [];
  for (let i = 0; i < 6; i++) {
    sent.push(await t.relay.channels.publish('c', i));
    t.advance(1000);
  }
  const from = async (since: number | string, count: number) => {
    await using reader = readFrom(t.relay, 'c', { since });
    return (await reader.take(count)).map((message) => message.msg);
  };
  assert.deepEqual(await from('all', 6), [0, 1, 2, 3, 4, 5]);
  assert.deepEqual(await from(0, 6), [0, 1, 2, 3, 4, 5]);
  assert.deepEqual(await from(sent[3]!.seq, 2), [4, 5]);
  assert.deepEqual(await from(String(sent[3]!.seq), 2), [4, 5]);
  assert.deepEqual(await from(sent[4]!.ts, 2), [4, 5]);
  assert.deepEqual(await from(new Date(sent[4]!.ts).toISOString(), 2), [4, 5]);
  assert.deepEqual(await from(sent[0]!.ts - 60_000, 6), [0, 1, 2, 3, 4, 5]);
});

test('an invalid since is rejected', async () => {
  await using t = openTestCore();
  for (const since of ['soon', '-1', '1e3', -1, 1.5, Number.NaN, '2026-13-45']) {
    await using reader = readFrom(t.relay, 'c', { since });
    await assert.rejects(reader.take(1), (e) => isRelayError(e, 'bad_request'), String(since));
  }
});

test('expired messages that are not trimmed yet are hidden, and a reader that asked for them is notified', async () => {
  await using t = openTestCore({ retentionMs: 60_000 });
  const old = await t.relay.channels.publish('c', 'old');
  t.advance(30_000);
  await t.relay.channels.publish('c', 'middle');
  t.advance(31_000);
  await t.relay.channels.publish('c', 'new');
  await using all = readFrom(t.relay, 'c', { since: 'all' });
  assert.deepEqual(
    (await all.take(2)).map(({ msg, gap }) => [msg, gap]),
    [
      ['middle', undefined],
      ['new', undefined],
    ],
  );
  await using resumed = readFrom(t.relay, 'c', { since: old.seq - 1 });
  assert.deepEqual(
    (await resumed.take(2)).map(({ msg, gap }) => [msg, gap]),
    [
      ['middle', true],
      ['new', undefined],
    ],
  );
  await using behind = readFrom(t.relay, 'c', { since: old.seq });
  assert.equal((await behind.take(1))[0]!.gap, undefined, 'it has read all that is gone');
});

test('a channel keeps about as many messages as configured, and a reader that fell behind is notified of the gap', async () => {
  await using t = openTestCore({ messages: 32 });
  const first = await t.relay.channels.publish('c', 0);
  for (let i = 1; i < 300; i++) await t.relay.channels.publish('c', i);
  await t.core.sweepStore();
  const { messages } = await t.relay.channels.inspect('c');
  assert.equal(messages, 32);
  await using reader = readFrom(t.relay, 'c', { since: first.seq });
  const taken = await reader.take(32);
  assert.deepEqual(
    taken.map((message) => message.msg),
    Array.from({ length: 32 }, (_, i) => 268 + i),
  );
  assert.equal(taken[0]!.gap, true);
  assert.ok(taken.slice(1).every((message) => message.gap === undefined));
});

test('a channel is trimmed automatically while messages arrive', async () => {
  await using t = openTestCore({ messages: 32 });
  for (let i = 0; i < 1000; i++) await t.relay.channels.publish('c', i);
  await t.core.close();
  const { messages } = await t.relay.channels.inspect('c');
  assert.ok(messages < 132, `${messages} are kept`);
});

test('a subscriber ahead of the channel learns that it cannot resume, and gets new messages', async () => {
  await using t = openTestCore();
  const { seq } = await t.relay.channels.publish('c', 'old');
  await using reader = readFrom(t.relay, 'c', { since: seq + 1_000_000 });
  const next = reader.take(1);
  // The reader gets only messages that are published after it has started to listen. The test cannot see
  // when that is, so it publishes until the reader gets a message.
  let heard = false;
  void next.then(() => {
    heard = true;
  });
  await until(async () => {
    await t.relay.channels.publish('c', 'new');
    return heard;
  });
  const [message] = await next;
  assert.deepEqual([message!.msg, message!.gap], ['new', true]);
});

test('channels are listed with their contents from their first message on', async () => {
  await using t = openTestCore();
  assert.deepEqual(await t.relay.channels.list(), { channels: [] });
  const names = ['a/b', 'a%2Fb', 'ü.x', '日本', 'x'.repeat(256)];
  for (const name of names) await t.relay.channels.publish(name, name);
  await t.relay.channels.publish('a/b', 'again');
  const { channels } = await t.relay.channels.list();
  assert.deepEqual(channels.map(({ name }) => name).sort(), [...names].sort());
  assert.equal(channels.find(({ name }) => name === 'a/b')!.messages, 2);
  assert.deepEqual(await t.as('eve', 'other').channels.list(), { channels: [] });
});

test('the next page of the list starts after the last name', async () => {
  await using t = openTestCore();
  for (let i = 0; i < 7; i++) await t.relay.channels.publish(`c${i}`, i);
  const seen: string[] = [];
  for (let after: string | undefined; ; ) {
    const page = await t.relay.channels.list({ after, limit: 3 });
    seen.push(...page.channels.map(({ name }) => name));
    if (page.next === undefined) break;
    after = page.next;
  }
  assert.deepEqual(seen, ['c0', 'c1', 'c2', 'c3', 'c4', 'c5', 'c6']);
});

test('an unused channel leaves the list and loses its last message; its sequence numbers continue', async () => {
  await using t = openTestCore({ retentionMs: 60_000 });
  const { seq } = await t.relay.channels.publish('once', 'secret');
  t.advance(61_000);
  await t.core.sweepStore();
  assert.deepEqual(await t.relay.channels.list(), { channels: [] });
  const { entries } = await t.engine.logs.read('chn.local.once');
  assert.equal(JSON.stringify(entries).includes('secret'), false);
  const again = await t.relay.channels.publish('once', 'more');
  assert.ok(again.seq > seq);
  assert.equal((await t.relay.channels.list()).channels.length, 1);
  await using reader = readFrom(t.relay, 'once', { since: 'all' });
  assert.deepEqual(
    (await reader.take(1)).map((message) => message.msg),
    ['more'],
  );
});

test('a signal repeated with its key is one message; with different content it is rejected', async () => {
  await using t = openTestCore();
  const o = { idempotency_key: 'k' };
  const first = await t.relay.channels.publish('c', { a: 1 }, o);
  assert.deepEqual(await t.relay.channels.publish('c', { a: 1 }, o), first);
  await assert.rejects(t.relay.channels.publish('c', { a: 2 }, o), (e) =>
    isRelayError(e, 'idempotency_conflict'),
  );
  assert.equal((await t.relay.channels.inspect('c')).messages, 1);
});

test('invalid names and too large signals are rejected', async () => {
  await using t = openTestCore();
  for (const name of ['', '.', '..', 'a\u0000b', '\ud800', 'x'.repeat(257), 5 as unknown as string]) {
    await assert.rejects(t.relay.channels.publish(name, 1), (e) => isRelayError(e, 'bad_request'));
  }
  await t.relay.channels.publish('😀'.repeat(256), 1);
  await assert.rejects(t.relay.channels.publish('c', 'x'.repeat(17_000)), (e) =>
    isRelayError(e, 'too_large'),
  );
  await assert.rejects(t.relay.channels.publish('c', undefined as never), (e) =>
    isRelayError(e, 'bad_request'),
  );
});
