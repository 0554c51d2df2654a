import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemEnv } from '../../src/base/env.ts';
import { isRelayError, type RelayError } from '../../src/base/errors.ts';
import { generateFernetKey } from '../../src/formats/fernet.ts';
import { ContextRelay, type ContextRelayOptions, type ReceivedMessage } from '../../src/public/index.ts';
import { until } from '../until.ts';
import { openTestCore } from './core.ts';
import { type ServerUnderTest, startTestServer } from './server.ts';

/** All tests run over HTTP and WebSocket, and on a relay in the same process. */
const WAYS: [string, (server: ServerUnderTest, o?: ContextRelayOptions) => ContextRelay][] = [
  ['over the network', (server, o) => new ContextRelay({ ...o, baseUrl: server.url })],
  [
    'in the same process',
    (server, o) => new ContextRelay({ ...o, relay: server.relay, ownBases: [server.url] }),
  ],
];

for (const [way, clientOf] of WAYS) {
  test(`${way}: a handler gets the messages after the subscription is ready, one at a time`, async () => {
    await using server = await startTestServer();
    const client = clientOf(server);
    await client.publish('c', 'before');
    const received: unknown[] = [];
    let running = 0;
    let done = () => {};
    const all = new Promise<void>((resolve) => {
      done = resolve;
    });
    await using subscription = client.subscribe('c', async (message: ReceivedMessage) => {
      assert.equal(++running, 1);
      await new Promise((resolve) => setTimeout(resolve, 1));
      running--;
      received.push('msg' in message ? message.msg : await client.pull(message.url!));
      if (received.length === 3) done();
    });
    await subscription.ready;
    await client.push('payload', { channel: 'c' });
    await client.publish('c', { n: 1 });
    await client.publish('c', null);
    await all;
    assert.deepEqual(received, ['payload', { n: 1 }, null]);
  });

  test(`${way}: a loop over a channel replays old messages, continues with new ones, and ends with the signal`, async () => {
    await using server = await startTestServer();
    const client = clientOf(server);
    for (let i = 0; i < 5; i++) await client.publish('c', i);
    const abort = new AbortController();
    const received: unknown[] = [];
    for await (const message of client.subscribe('c', { since: 'all', signal: abort.signal })) {
      received.push(message.msg);
      if (received.length === 5) await client.publish('c', 5);
      if (received.length === 6) abort.abort();
    }
    assert.deepEqual(received, [0, 1, 2, 3, 4, 5]);
  });

  test(`${way}: in a group a handler that returns acknowledges, a handler that throws gives back, and the lease is renewed meanwhile`, async () => {
    await using server = await startTestServer({ channels: { leaseMs: 400, retryMs: [] } });
    const client = clientOf(server);
    for (const msg of ['slow', 'hard', 'easy']) await client.publish('tasks', msg);
    const tries: string[] = [];
    let finished = () => {};
    const all = new Promise<void>((resolve) => {
      finished = resolve;
    });
    await using _ = client.subscribe(
      'tasks',
      async ({ msg, attempt }) => {
        tries.push(`${msg} ${attempt}`);
        // Work longer than the lease. If the lease were not extended, the message would be delivered again.
        if (msg === 'slow') await new Promise((resolve) => setTimeout(resolve, 900));
        if (msg === 'hard' && attempt === 1) throw new Error('not today');
        if (msg === 'easy') finished();
      },
      { group: 'g' },
    );
    await all;
    const settled = async () => {
      const { groups } = await client.channels.inspect('tasks');
      return groups[0]!.backlog + groups[0]!.leases.length === 0;
    };
    await until(settled);
    assert.deepEqual(tries, ['slow 1', 'hard 1', 'hard 2', 'easy 1']);
  });

  test(`${way}: a loop in a group acknowledges explicitly`, async () => {
    await using server = await startTestServer();
    const client = clientOf(server);
    for (let i = 0; i < 3; i++) await client.publish('tasks', i);
    const received: unknown[] = [];
    for await (const message of client.subscribe('tasks', { group: 'g' })) {
      received.push(message.msg);
      await message.extend();
      await message.ack();
      await assert.rejects(message.nack(), (e) => isRelayError(e, 'conflict'));
      if (received.length === 3) break;
    }
    assert.deepEqual(received, [0, 1, 2]);
  });

  test(`${way}: a durable subscriber resumes, and gets unhandled messages again`, async () => {
    await using server = await startTestServer();
    const client = clientOf(server);
    const first = client.subscribe('c', { durable: 'ann', since: 'all' });
    await first.ready;
    for (let i = 0; i < 5; i++) await client.publish('c', i);
    const received: unknown[] = [];
    for await (const message of first) {
      received.push(message.msg);
      if (received.length === 3) break;
    }
    assert.deepEqual(
      (await client.inbox.read('ann')).messages.map(({ msg }) => msg),
      [2, 3, 4],
    );
    for await (const message of client.subscribe('c', { durable: 'ann' })) {
      received.push(message.msg);
      await message.ack();
      if (message.msg === 4) break;
    }
    assert.deepEqual(received, [0, 1, 2, 2, 3, 4]);
    assert.deepEqual((await client.inbox.read('ann')).messages, []);
  });

  test(`${way}: an encrypted push reaches only subscribers with the channel's key`, async () => {
    await using server = await startTestServer();
    const key = generateFernetKey(systemEnv);
    const sender = clientOf(server, { channelKeys: { secret: key } });
    const friend = clientOf(server, {
      channelKeys: async (channel) => (channel === 'secret' ? key : undefined),
    });
    const stranger = clientOf(server);
    const wrong = clientOf(server, { channelKeys: { secret: generateFernetKey(systemEnv) } });
    await sender.push('for friends', { channel: 'secret', encrypted: true });
    const received = async (client: ContextRelay) => {
      for await (const message of client.subscribe('secret', { since: 'all' })) return message;
      throw new Error('nothing came');
    };
    assert.equal(await friend.pull((await received(friend)).url!), 'for friends');
    for (const other of [stranger, wrong]) {
      const message = await received(other);
      assert.equal(message.url!.includes('#'), false);
      await assert.rejects(other.pull(message.url!), (e) => isRelayError(e, 'key_missing'));
    }
    const { entries } = await server.core.engine.logs.read('chn.local.secret');
    assert.ok(!JSON.stringify(entries).includes(key));
  });

  test(`${way}: receipts are found by pointer URL`, async () => {
    await using server = await startTestServer();
    const client = clientOf(server);
    const url = await client.push('x');
    await client.pull(url);
    assert.equal((await client.receipts(url)).reached, 'pulled');
  });

  test(`${way}: the subscription reports errors`, async () => {
    await using server = await startTestServer();
    const client = clientOf(server);
    const fails = async (channel: string, o: object) => {
      const subscription = client.subscribe(channel, () => {}, o);
      await assert.rejects(subscription.done, (e) => isRelayError(e, 'bad_request'), JSON.stringify(o));
    };
    await fails('c', { since: 'soon' });
    await fails('c', { group: 'x'.repeat(65) });
    await fails('c', { group: 'g', prefetch: 0 });
    await fails('c', { group: 'g', durable: 'ann' });
    await fails('x'.repeat(257), {});
    const thrown = client.subscribe('c', { since: 'all' });
    await client.publish('c', 1);
    const handled = client.subscribe(
      'c',
      () => {
        throw new Error('my own');
      },
      { since: 'all' },
    );
    await assert.rejects(handled.done, /my own/);
    await thrown.close();
  });
}

test('an address without a server is an immediate error', async () => {
  const client = new ContextRelay({ baseUrl: 'http://127.0.0.1:9', retries: 0 });
  const subscription = client.subscribe('c', () => {});
  await assert.rejects(subscription.ready, (e) => isRelayError(e, 'unreachable'));
  await assert.rejects(subscription.done, (e) => isRelayError(e, 'unreachable'));
});

/** Emits only an error event after a failed connection, and no close event, as the WebSocket of Node 22 does. */
class ErrorAlone extends WebSocket {
  constructor(url: string | URL) {
    super(url);
    let failed = false;
    this.addEventListener('error', () => {
      failed = true;
    });
    this.addEventListener('close', (event) => failed && event.stopImmediatePropagation());
  }
}

for (const [platform, Socket] of [
  ['a WebSocket', WebSocket],
  ['a WebSocket that tells of errors alone', ErrorAlone],
  ['no WebSocket', undefined],
] as const) {
  test(`with ${platform}: when the relay goes away and returns, the subscription reports it, resumes and misses nothing`, async () => {
    const nativeWebSocket = globalThis.WebSocket;
    globalThis.WebSocket = Socket as typeof WebSocket;
    using stack = new DisposableStack();
    stack.defer(() => {
      globalThis.WebSocket = nativeWebSocket;
    });
    await using core = openTestCore();
    const first = await startTestServer({ core });
    const { port } = new URL(first.url);
    const changes: boolean[] = [];
    const client = new ContextRelay({
      baseUrl: first.url,
      onConnection: (lost) => changes.push(lost !== null),
    });
    const received: unknown[] = [];
    const subscription = client.subscribe('c', ({ msg }) => void received.push(msg));
    await subscription.ready;
    await first.stop();
    await core.relay.channels.publish('c', 'while it was away, before the first message');
    await using second = await startTestServer({ core, port: Number(port) });
    await until(() => received.length >= 1);
    await core.relay.channels.publish('c', 'again');
    await until(() => received.length >= 2);
    await second.stop();
    await core.relay.channels.publish('c', 'away once more');
    await using third = await startTestServer({ core, port: Number(port) });
    await until(() => received.length >= 3);
    await subscription.close();
    assert.deepEqual(received, ['while it was away, before the first message', 'again', 'away once more']);
    assert.equal(changes[0], true);
    assert.equal(changes.at(-1), false);
    assert.ok(third.url);
  });
}

test('a lost connection is reported with the reason that the relay gave', async () => {
  await using core = openTestCore();
  const server = await startTestServer({ core });
  const hints: string[] = [];
  const client = new ContextRelay({
    baseUrl: server.url,
    onConnection: (lost) => hints.push((lost as RelayError).hint),
  });
  const received: unknown[] = [];
  const subscription = client.subscribe('c', ({ msg }) => void received.push(msg));
  await subscription.ready;
  await core.relay.channels.publish('c', 'connected');
  await until(() => received.length >= 1);
  await server.stop();
  await until(() => hints.length >= 1);
  await subscription.close();
  assert.equal(hints[0], 'The relay closed the connection: the relay is stopping: reconnect');
});

test('a slow consumer holds a bounded number of messages in memory, and gets them all', async () => {
  await using server = await startTestServer();
  const Platform = globalThis.WebSocket;
  let openCount = 0;
  let dropped = () => {};
  const firstDropped = new Promise<void>((resolve) => {
    dropped = resolve;
  });
  globalThis.WebSocket = class extends Platform {
    constructor(url: string | URL) {
      super(url);
      openCount++;
      this.addEventListener('close', () => dropped());
    }
  };
  try {
    const client = new ContextRelay({ baseUrl: server.url });
    const count = 5000;
    for (let i = 0; i < count; i++) await server.relay.channels.publish('c', i);
    const received: unknown[] = [];
    for await (const { msg } of client.subscribe('c', { since: 'all' })) {
      received.push(msg);
      // Stop reading until the relay drops the connection.
      if (received.length === 10) await firstDropped;
      if (received.length === count) break;
    }
    assert.deepEqual(
      received,
      Array.from({ length: count }, (_, i) => i),
    );
    assert.ok(openCount > 1, 'it was opened again');
  } finally {
    globalThis.WebSocket = Platform;
  }
});

test('the message after a gap is marked', async () => {
  await using server = await startTestServer({ channels: { messages: 16 } });
  const { seq } = await server.relay.channels.publish('c', 'first');
  for (let i = 0; i < 40; i++) await server.relay.channels.publish('c', i);
  await server.core.core.sweepStore();
  const client = new ContextRelay({ baseUrl: server.url });
  const gaps: unknown[] = [];
  for await (const { msg, gap } of client.subscribe('c', { since: seq })) {
    gaps.push([msg, gap]);
    if (gaps.length === 2) break;
  }
  assert.deepEqual(gaps, [
    [24, true],
    [25, undefined],
  ]);
});

test('since also accepts a time in ms', async () => {
  await using server = await startTestServer();
  await server.relay.channels.publish('c', 'one');
  const client = new ContextRelay({ baseUrl: server.url });
  for await (const { msg } of client.subscribe('c', { since: systemEnv.now() - 3_600_000 })) {
    assert.equal(msg, 'one');
    break;
  }
});
