import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ownTextWork } from '../../src/app/store/own-text-work.ts';
import { systemEnv } from '../../src/base/env.ts';
import { RelayCore } from '../../src/domain/relay-core.ts';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import { httpRelay } from '../../src/sdk/http-relay.ts';
import { a2aClient, request } from '../a2a/agents.ts';
import { receiver, webhookAt } from '../a2a/receiver.ts';
import { serve } from '../http/relay-under-test.ts';
import { HOUR } from '../keys/stored-bytes.ts';
import { until } from '../until.ts';
import { hostWorker } from './worker-relay.ts';

/** Tests the background work of alarms. Every object is evicted before each request. */

async function start(t: TestContext, vars: { [name: string]: string } = {}) {
  let shift = 0;
  const env = { ...systemEnv, now: () => Date.now() + shift };
  const host = await hostWorker({
    vars: { RELAY_OPEN: 'true', ...vars },
    env,
    step: () => ({ shift }),
    evicts: true,
  });
  t.after(() => host.dispose());
  const { platform, engine } = host;
  const advance = (ms: number) => {
    shift += ms;
    platform.moved();
  };
  return { url: platform.url, relay: new ContextRelay({ baseUrl: platform.url }), platform, engine, advance };
}

test('an alarm deletes expired messages of a channel, and the empty channel leaves the list', async (t) => {
  const { relay, engine, advance } = await start(t, { RELAY_CHANNEL_RETENTION: '60' });
  for (const msg of ['a', 'b', 'c']) await relay.publish('c', msg);
  assert.equal((await engine.logs.info('chn.local.c')).count, 3);
  advance(61_000);
  await until(async () => (await engine.logs.info('chn.local.c')).count === 1);
  assert.deepEqual((await relay.channels.list()).channels, []);
});

test('alarms sweep expired pointers with their receipts and list entries', async (t) => {
  const { relay, platform, engine, advance } = await start(t);
  const push = async () => relay.pull(await relay.push('x', { channel: 'c', ttl: 60 }));
  for (let i = 0; i < 20; i++) await push();
  await platform.control('settle');
  const before = await engine.usage();
  assert.equal(before.blobs.count, 20);
  // Each pointer has at least three records: itself, its list entry and its receipts.
  assert.ok(before.records >= 60);
  advance(3 * HOUR);
  // The records of the channel, the statistics and the relay itself stay.
  await until(async () => (await engine.usage()).records < 10);
  assert.equal((await engine.usage()).blobs.count, 0);
});

test('an object that wakes up delivers a pending webhook about the end of a task', async (t) => {
  const { relay, engine } = await start(t);
  await using hook = await receiver();
  // Send the task to another server that stops before the task ends. Then only the object can call the webhook.
  const core = new RelayCore({ engine, env: systemEnv, texts: ownTextWork });
  const gone = await serve(core, { loopbackWebhooks: true });
  const asked = request('tell me', { immediately: true });
  asked.configuration!.taskPushNotificationConfig = webhookAt(hook.url);
  const task = await (await a2aClient(gone.url, 'JSONRPC')).sendMessage(asked);
  assert.ok('artifacts' in task);
  await gone.stop();
  await core.close();
  assert.deepEqual(hook.received, []);
  await relay.push('done', { channel: 'agent-done', metadata: { task_id: task.id, status: 'done' } });
  await hook.until('TASK_STATE_COMPLETED');
});

test('an object with a pending webhook wakes up by itself', async (t) => {
  const { url, relay, platform, advance } = await start(t);
  await using hook = await receiver();
  const asked = request('tell me', { immediately: true });
  asked.configuration!.taskPushNotificationConfig = webhookAt(hook.url);
  const task = await (await a2aClient(url, 'JSONRPC')).sendMessage(asked);
  assert.ok('artifacts' in task);
  await platform.control('evict');
  const done = relay.push('done', { channel: 'agent-done', metadata: { task_id: task.id, status: 'done' } });
  advance(61_000);
  await done;
  await hook.until('TASK_STATE_COMPLETED');
});

test('a delayed message is published by an alarm', async (t) => {
  const { relay, engine, platform, advance } = await start(t);
  await relay.publish('later', 'now', { after: 600 });
  await platform.control('evict');
  assert.equal((await engine.logs.info('chn.local.later')).count, 0);
  advance(601_000);
  await until(async () => (await engine.logs.info('chn.local.later')).count === 1);
});

test('an evicted object keeps its alarm if a later one is requested', async (t) => {
  const { relay, engine, platform, advance } = await start(t);
  await relay.push('soon', { ttl: 60 });
  await platform.control('evict');
  await relay.push('late', { ttl: 86_400 });
  advance(HOUR + 61_000);
  await until(async () => (await engine.records.list('ten.local/pointers/')).items.length === 1);
  await until(async () => (await engine.usage()).blobs.count === 1);
});

test('a message whose lease has ended goes to another, hibernating member', async (t) => {
  const { url, relay, platform, advance } = await start(t, { RELAY_GROUP_LEASE: '30' });
  const frames: { seq: number; token: number; attempt: number }[] = [];
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws/work?group=g`);
  t.after(() => socket.close());
  socket.onmessage = ({ data }) => void frames.push(JSON.parse(data));
  await new Promise((opened) => socket.addEventListener('open', opened));
  const pushed = await relay.push('a task', { channel: 'work' });
  await until(() => frames.length === 1);
  assert.equal(frames[0]!.attempt, 1);
  const rungs = async () => {
    await platform.control('settle');
    return (await relay.receipts(pushed)).receipts.map(({ rung }) => rung);
  };
  assert.ok(!(await rungs()).includes('notified'), 'the platform answers pings for a member that sleeps');
  advance(31_000);
  await until(() => frames.length === 2);
  const { seq, token, attempt } = frames[1]!;
  assert.equal(attempt, 2);
  socket.send(JSON.stringify({ ack: seq, token }));
  await until(async () => (await rungs()).includes('acked'));
});

test('an object can be evicted as soon as the reader of an event stream has left', async (t) => {
  const { url, platform } = await start(t);
  const evicted = async () => (await platform.control('evict')) === true;
  const gone = new AbortController();
  const { body } = await fetch(`${url}/channels/b/events`, { signal: gone.signal });
  await body!.getReader().read();
  await until(async () => !(await evicted()));
  gone.abort();
  await until(evicted);
});

test('the storage counter of a tenant is corrected regularly and after a rejection', async (t) => {
  const room = 200_000;
  const small = {
    pushes: null,
    pulls: null,
    keys: 9,
    payload_bytes: 100_000,
    ttl_seconds: 3600,
    storage_bytes: room,
  };
  const { url, engine, advance } = await start(t, {
    RELAY_OPEN: 'false',
    RELAY_ADMIN_KEY: 'an-admin-key-for-this-test-alone',
    RELAY_PLANS: JSON.stringify({ small }),
    RELAY_DEFAULT_PLAN: 'small',
  });
  const admin = httpRelay({ baseUrl: url, apiKey: 'an-admin-key-for-this-test-alone' });
  const { key } = await admin.keys.create({ name: 'ada', tenant: 'acme' });
  const relay = new ContextRelay({ baseUrl: url, apiKey: key });
  const used = async () => (await admin.usage.get({ tenant: 'acme' })).storage.used;
  for (let at = 0; at < 20; at++) {
    await relay.publish(`c${at}`, 'a message');
    await relay.threads.create({ name: 'a thread' });
    await relay.files.space(`s${at}`).put('a.md', 'a file');
  }
  await until(async () => (await engine.records.get('ten.acme/storage/counted')) !== null);
  const held = await used();
  // Simulate a crash after the counter was increased and before the bytes were written.
  const miscount = (bytes: number) => engine.records.add('ten.acme/storage/written', bytes);
  await miscount(10_000);
  advance(HOUR);
  assert.equal(await used(), held + 10_000);
  advance(6 * HOUR);
  await until(async () => (await used()) === held);
  await miscount(room);
  advance(61_000);
  await assert.rejects(relay.publish('c0', 'one more'), { code: 'over_storage' });
  await until(async () => (await used()) === held);
});
