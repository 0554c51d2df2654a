import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRelayError } from '../../src/base/errors.ts';
import { INBOX_FOLLOWS } from '../../src/base/limits.ts';
import { encode, openTestCore } from './core.ts';
import { startTestServer } from './server.ts';

test('an agent finds all messages since it began to follow, oldest first, until they are marked as read', async () => {
  await using t = openTestCore();
  await t.relay.channels.publish('a', 'old');
  await t.relay.inbox.follow('ann', 'a');
  await t.relay.inbox.follow('ann', 'b/c');
  await t.relay.channels.publish('b/c', 1);
  t.advance(5);
  await t.relay.pointers.push({ body: encode('x'), channel: 'a' });
  t.advance(5);
  await t.relay.channels.publish('b/c', 3);
  const inbox = await t.relay.inbox.read('ann');
  assert.deepEqual(inbox.following, ['a', 'b/c']);
  assert.deepEqual(
    inbox.messages.map(({ channel, msg, url }) => [channel, msg ?? typeof url]),
    [
      ['b/c', 1],
      ['a', 'string'],
      ['b/c', 3],
    ],
  );
  assert.equal(inbox.more, false);
  assert.deepEqual((await t.relay.inbox.read('ann')).messages, inbox.messages, 'a look changes nothing');
  await t.relay.inbox.markRead('ann', inbox.cursors);
  assert.deepEqual((await t.relay.inbox.read('ann')).messages, []);
  await t.relay.channels.publish('a', 'next');
  assert.deepEqual(
    (await t.relay.inbox.read('ann')).messages.map(({ msg }) => msg),
    ['next'],
  );
});

test('an inbox rejects wildcards, but follows a channel whose name contains them', async () => {
  await using t = openTestCore();
  await assert.rejects(t.relay.inbox.follow('ann', 'reviews.*'), /takes no wildcards/);
  await t.relay.channels.publish('reviews.*', 'one');
  assert.equal((await t.relay.inbox.follow('ann', 'reviews.*')).channel, 'reviews.*');
});

test('a message that arrives between reading and marking stays unread', async () => {
  await using t = openTestCore();
  await t.relay.inbox.follow('ann', 'a');
  await t.relay.channels.publish('a', 1);
  const { cursors } = await t.relay.inbox.read('ann');
  await t.relay.channels.publish('a', 2);
  await t.relay.inbox.markRead('ann', cursors);
  assert.deepEqual(
    (await t.relay.inbox.read('ann')).messages.map(({ msg }) => msg),
    [2],
  );
});

test('the read mark never moves back, and never beyond the last message', async () => {
  await using t = openTestCore();
  await t.relay.inbox.follow('ann', 'a');
  const { seq: first } = await t.relay.channels.publish('a', 1);
  const { seq: second } = await t.relay.channels.publish('a', 2);
  await t.relay.inbox.markRead('ann', { a: second });
  await t.relay.inbox.markRead('ann', { a: first });
  assert.deepEqual((await t.relay.inbox.read('ann')).messages, []);
  await assert.rejects(t.relay.inbox.markRead('ann', { a: second + 1000 }), (e) =>
    isRelayError(e, 'bad_request'),
  );
  await assert.rejects(t.relay.inbox.markRead('ann', { other: 0 }), (e) => isRelayError(e, 'not_found'));
});

test('the newest messages are returned on request, oldest first', async () => {
  await using t = openTestCore();
  for (const channel of ['a', 'b']) await t.relay.inbox.follow('ann', channel);
  for (let i = 0; i < 90; i++) {
    await t.relay.channels.publish(i % 30 === 0 ? 'a' : 'b', i);
    t.advance(1);
  }
  const { messages, more } = await t.relay.inbox.read('ann', { limit: 40, newest: true });
  assert.deepEqual(
    messages.map(({ msg }) => msg),
    Array.from({ length: 40 }, (_, i) => i + 50),
  );
  assert.equal(more, true);
  const all = await t.relay.inbox.read('ann', { limit: 100, newest: true });
  assert.deepEqual([all.messages.length, all.more], [90, false]);
});

test('one read returns a page, and the next read continues after the mark', async () => {
  await using t = openTestCore();
  for (const channel of ['a', 'b']) await t.relay.inbox.follow('ann', channel);
  for (let i = 0; i < 90; i++) {
    await t.relay.channels.publish(i % 3 === 0 ? 'a' : 'b', i);
    t.advance(1);
  }
  const received: unknown[] = [];
  for (let page = 0; page < 3; page++) {
    const inbox = await t.relay.inbox.read('ann', { limit: 40 });
    assert.equal(inbox.more, page < 2);
    received.push(...inbox.messages.map(({ msg }) => msg));
    await t.relay.inbox.markRead('ann', inbox.cursors);
  }
  assert.deepEqual(
    received,
    Array.from({ length: 90 }, (_, i) => i),
  );
});

test('following can begin in the past, changes nothing when repeated, and can be ended', async () => {
  await using t = openTestCore();
  await t.relay.channels.publish('a', 'old');
  const first = await t.relay.inbox.follow('ann', 'a', { since: 'all' });
  assert.deepEqual(first, { agent: 'ann', channel: 'a', cursor: 0 });
  const { cursors } = await t.relay.inbox.read('ann');
  await t.relay.inbox.markRead('ann', cursors);
  assert.equal((await t.relay.inbox.follow('ann', 'a', { since: 'all' })).cursor, cursors.a);
  await t.relay.inbox.unfollow('ann', 'a');
  assert.deepEqual((await t.relay.inbox.read('ann')).following, []);
  await assert.rejects(t.relay.inbox.unfollow('ann', 'a'), (e) => isRelayError(e, 'not_found'));
});

test('inboxes of two agents or two tenants are independent', async () => {
  await using t = openTestCore();
  await t.relay.inbox.follow('ann', 'a');
  await t.relay.inbox.follow('bob', 'a');
  await t.relay.channels.publish('a', 1);
  await t.relay.inbox.markRead('ann', (await t.relay.inbox.read('ann')).cursors);
  assert.equal((await t.relay.inbox.read('bob')).messages.length, 1);
  assert.deepEqual((await t.as('x', 'other').inbox.read('bob')).following, []);
});

test('messages that are no longer kept are marked as a gap', async () => {
  await using t = openTestCore({ retentionMs: 60_000 });
  await t.relay.inbox.follow('ann', 'a');
  await t.relay.channels.publish('a', 'lost');
  t.advance(61_000);
  await t.relay.channels.publish('a', 'there');
  const { messages } = await t.relay.inbox.read('ann');
  assert.deepEqual(
    messages.map(({ msg, gap }) => [msg, gap]),
    [['there', true]],
  );
});

test('the inbox behaves the same over HTTP', async () => {
  await using server = await startTestServer();
  const agent = encodeURIComponent('team/ann.1');
  const followed = await server.post(`/inbox/${agent}/channels`, { channel: 'a/b' });
  assert.deepEqual(followed, { status: 200, json: { agent: 'team/ann.1', channel: 'a/b', cursor: 0 } });
  await server.post('/channels/a%2Fb', { msg: 'hello' });
  const { json } = await server.get(`/v1/inbox/${agent}`);
  assert.deepEqual(
    json.messages.map(({ channel, msg }: { channel: string; msg: string }) => [channel, msg]),
    [['a/b', 'hello']],
  );
  assert.equal((await server.post(`/inbox/${agent}/read`, { cursors: json.cursors })).status, 204);
  assert.deepEqual((await server.get(`/inbox/${agent}`)).json.messages, []);
  const response = await fetch(`${server.url}/inbox/${agent}/channels/a%2Fb`, { method: 'DELETE' });
  assert.equal(response.status, 204);
  assert.deepEqual((await server.get(`/inbox/${agent}`)).json.following, []);
  for (const [path, body] of [
    [`/inbox/${agent}/channels`, {}],
    [`/inbox/${agent}/channels`, { channel: '' }],
    [`/inbox/${'x'.repeat(129)}/channels`, { channel: 'a' }],
    [`/inbox/${agent}/read`, { cursors: { a: 'x' } }],
  ] as const) {
    assert.equal((await server.post(path, body)).status, 400);
  }
});

test('the number of follows of a tenant is limited', async () => {
  await using t = openTestCore();
  const { records } = t.core.deps.engine;
  const followCount = async () => (await records.get('ten.local/inbox-follows'))?.value;
  // Simulate a store of an earlier version, which did not count follows.
  await t.relay.inbox.follow('ann', 'a');
  await t.relay.inbox.follow('ann', 'b');
  await records.delete('ten.local/inbox-follows');
  await t.relay.inbox.unfollow('ann', 'b');
  await t.relay.inbox.follow('bob', 'a');
  await t.relay.inbox.follow('bob', 'a');
  assert.equal(await followCount(), 2);
  await records.put('ten.local/inbox-follows', INBOX_FOLLOWS - 1);
  await t.relay.inbox.follow('cy', 'a');
  await assert.rejects(
    t.relay.inbox.follow('dan', 'a'),
    (error) => isRelayError(error, 'bad_request') && /10000 channels in total/.test(error.message),
  );
  await t.relay.inbox.follow('cy', 'a');
  await t.relay.inbox.unfollow('cy', 'a');
  await t.relay.inbox.follow('dan', 'a');
  assert.equal(await followCount(), INBOX_FOLLOWS);
});
