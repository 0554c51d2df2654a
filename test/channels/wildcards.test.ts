import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { WILDCARD_CHANNELS } from '../../src/base/limits.ts';
import { LOCAL_CALLER } from '../../src/contract/caller.ts';
import { matchesPattern } from '../../src/contract/channels.ts';
import type { CreatedKey } from '../../src/contract/keys.ts';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import { type GuardedRelay, startGuarded } from '../keys/guarded-relay.ts';

test('* stands for one part, > for one or more parts at the end', () => {
  const cases: [string, string, boolean][] = [
    ['reviews.*', 'reviews.web', true],
    ['reviews.*', 'reviews', false],
    ['reviews.*', 'reviews.web.urgent', false],
    ['reviews.>', 'reviews.web.urgent', true],
    ['reviews.>', 'reviews', false],
    ['*.web', 'reviews.web', true],
    ['>', 'anything.at.all', true],
    ['a*.b', 'ax.b', false],
  ];
  for (const [pattern, name, matches] of cases)
    assert.equal(matchesPattern(pattern, name), matches, `${pattern} ${name}`);
});

describe('a subscription with wildcards', () => {
  let relay: GuardedRelay;
  let admin: ContextRelay;
  let key: string;
  let bound: CreatedKey;
  before(async () => {
    relay = await startGuarded();
    ({ key } = await relay.key());
    admin = new ContextRelay({ baseUrl: relay.url, apiKey: key });
  });
  after(() => relay[Symbol.asyncDispose]());

  /** Reads `count` messages and returns each as `channel message`. */
  async function read(client: ContextRelay, pattern: string, count: number, since?: string) {
    const received: string[] = [];
    await using messages = client.subscribe(pattern, since === undefined ? {} : { since });
    for await (const { channel, msg } of messages) {
      received.push(`${channel} ${msg}`);
      if (received.length === count) break;
    }
    return received.sort();
  }

  test('gets stored messages, new ones, and those of channels that appear later', async () => {
    await admin.publish('reviews.web', 'one');
    await admin.publish('reviews.api', 'two');
    await admin.publish('other.web', 'not this');
    assert.deepEqual(await read(admin, 'reviews.*', 2, 'all'), ['reviews.api two', 'reviews.web one']);
    const later = read(admin, 'reviews.>', 4, 'all');
    await admin.publish('reviews.web', 'three');
    await admin.publish('reviews.new.deep', 'four');
    assert.deepEqual(await later, [
      'reviews.api two',
      'reviews.new.deep four',
      'reviews.web one',
      'reviews.web three',
    ]);
  });

  test('works over SSE, and resumes by time', async () => {
    const stop = new AbortController();
    const headers = { Authorization: `Bearer ${key}` };
    const response = await fetch(
      `${relay.url}/channels/${encodeURIComponent('reviews.*')}/events?since=all`,
      {
        headers,
        signal: stop.signal,
      },
    );
    let text = '';
    for await (const chunk of response.body!) {
      text += new TextDecoder().decode(chunk);
      if (text.split('\ndata: ').length > 3) break;
    }
    stop.abort();
    assert.match(text, /"channel":"reviews\.web"/);
    assert.match(text, /^id: \d{13}$/m);
  });

  test('matches only channels that the key may read', async () => {
    bound = await relay.key({ name: 'bound', channel_prefix: 'reviews.w' });
    const client = new ContextRelay({ baseUrl: relay.url, apiKey: bound.key });
    const all = read(client, '>', 3, 'all');
    await admin.publish('reviews.api', 'not for you');
    await admin.publish('reviews.web', 'for you');
    assert.deepEqual(await all, ['reviews.web for you', 'reviews.web one', 'reviews.web three']);
    const other = await relay.key({ name: 'stranger', tenant: 'others' });
    const stranger = new ContextRelay({ baseUrl: relay.url, apiKey: other.key });
    await stranger.publish('mine', 'own');
    assert.deepEqual(await read(stranger, '>', 1, 'all'), ['mine own']);
  });

  test('a channel whose name contains * stays reachable by its exact name', async () => {
    await admin.publish('star.*', 'exact');
    await admin.publish('star.a', 'another');
    assert.deepEqual(await read(admin, 'star.*', 1, 'all'), ['star.* exact']);
    await relay.core.keys.revoke(LOCAL_CALLER, bound.id, { tenant: 'acme' });
    const other = await relay.key({ name: 'bound too', channel_prefix: 'star.a' });
    const client = new ContextRelay({ baseUrl: relay.url, apiKey: other.key });
    assert.deepEqual(await read(client, 'star.*', 1, 'all'), ['star.a another']);
  });

  test('dead letters match only a pattern that asks for them', async () => {
    await admin.publish('jobs.dead', 'a letter');
    await admin.publish('jobs.live', 'work');
    assert.deepEqual(await read(admin, 'jobs.*', 1, 'all'), ['jobs.live work']);
    assert.deepEqual(await read(admin, '*.dead', 1, 'all'), ['jobs.dead a letter']);
  });

  test('refuses groups, sequence numbers, and patterns that match too much', async () => {
    await assert.rejects(read(admin, 'reviews.*', 1, '7'), /cannot be a sequence number with wildcards/);
    const inGroup = admin.subscribe('reviews.*', { group: 'g' });
    await assert.rejects(async () => {
      for await (const _ of inGroup) break;
    }, /name of one channel/);
    for (let i = 0; i <= WILDCARD_CHANNELS; i++) await admin.publish(`many.${i}`, i);
    await assert.rejects(read(admin, 'many.*', 1, 'all'), /more than 100 channels/);
  });
});
