import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { ownTextWork } from '../../src/app/store/own-text-work.ts';
import { type Env, systemEnv } from '../../src/base/env.ts';
import { LOCAL_CALLER } from '../../src/contract/caller.ts';
import type { Relay } from '../../src/contract/relay.ts';
import { RelayCore } from '../../src/domain/relay-core.ts';
import { type NatsEngine, openNats } from '../../src/engines/nats/engine.ts';
import { clockAhead } from '../../src/engines/nats/live-feed.ts';
import { relay, temporaryHome } from '../cli/program.ts';
import { until } from '../until.ts';
import { type Cluster, findNatsServer, startCluster } from './cluster.ts';

const natsServer = await findNatsServer();
const skip = 'missing' in natsServer ? natsServer.missing : false;

interface Server {
  readonly engine: NatsEngine;
  readonly core: RelayCore;
  readonly relay: Relay;
}

let cluster: Cluster;
let servers: [Server, Server];

before(async () => {
  if (skip) return;
  cluster = await startCluster({ fsync: false });
  const url = `${cluster.url}/t${randomUUID().slice(0, 8)}`;
  // Start both at once. Either may create the streams.
  servers = await Promise.all([openServer(url, 'a'), openServer(url, 'b')]);
});

after(async () => {
  if (skip) return;
  for (const { core, engine } of servers) {
    await core.close();
    await engine[Symbol.asyncDispose]();
  }
  await cluster[Symbol.asyncDispose]();
});

test('a server has every write that the other server acknowledged', { skip }, async () => {
  const [a, b] = servers.map(({ engine }) => engine) as [NatsEngine, NatsEngine];
  for (let i = 0; i < 150; i++) {
    const revision = await a.records.put('two.read/1', i);
    assert.deepEqual(await b.records.get('two.read/1'), { value: i, revision });
    const { items } = await b.records.list('two.read/');
    assert.deepEqual(
      items.map(({ value }) => value),
      [i],
    );
    const seq = await a.logs.append('two.read', i);
    assert.deepEqual(
      (await b.logs.read('two.read', { after: seq! - 1 })).entries.map(({ data }) => data),
      [i],
    );
    assert.equal((await b.logs.info('two.read')).last, seq);
    await a.blobs.put('two.read/1', new TextEncoder().encode(String(i)));
    const { body } = (await b.blobs.get('two.read/1'))!;
    assert.equal(await new Response(body as BodyInit).text(), String(i));
  }
});

test('two hundred writers on two servers never exceed a counter’s maximum, and no write is lost', {
  skip,
}, async () => {
  const add = (i: number) => servers[i % 2]!.engine.records.add('two.count/1', 1, { max: 120 });
  const values = await Promise.all(Array.from({ length: 200 }, (_, i) => add(i)));
  const sortedValues = values.filter((value) => value !== null).sort((a, b) => a - b);
  assert.deepEqual(
    sortedValues,
    Array.from({ length: 120 }, (_, i) => i + 1),
  );
  assert.equal((await servers[0].engine.records.get('two.count/1'))?.value, 120);
});

test('a push to one server wakes the subscribers of the other', { skip }, async () => {
  const [a, b] = servers;
  const { signal } = new AbortController();
  const messages = b.relay.channels.subscribe('two', { since: 'all', signal })[Symbol.asyncIterator]();
  const first = messages.next();
  const { id } = await a.relay.pointers.push({ body: new TextEncoder().encode('hello'), channel: 'two' });
  assert.equal((await first).value?.url, `http://b.test/pull/${id}`);
  await messages.return?.();
});

test('a key works on both servers until either revokes it', { skip }, async () => {
  const [a, b] = servers;
  const { key, id } = await a.relay.keys.create({ name: 'ann', tenant: 'acme' });
  assert.equal((await b.core.keys.authenticate(key))?.name, 'ann');
  await b.relay.keys.revoke(id, { tenant: 'acme' });
  assert.equal(await a.core.keys.authenticate(key), null);
});

test('a message of a group goes to one member, whichever server the member uses', { skip }, async () => {
  const received: number[] = [];
  const stop = new AbortController();
  const members = servers.map(async ({ relay }) => {
    const work = relay.channels.subscribe('jobs', { group: 'g', signal: stop.signal });
    for await (const { seq, token, msg } of work) {
      received.push(msg as number);
      await relay.channels.ack('jobs', 'g', { seq, token: token! });
    }
  });
  for (let i = 0; i < 20; i++) await servers[i % 2]!.relay.channels.publish('jobs', i);
  await until(() => received.length >= 20);
  stop.abort();
  await Promise.all(members);
  assert.deepEqual(
    received.sort((x, y) => x - y),
    Array.from({ length: 20 }, (_, i) => i),
  );
});

test('patches of a thread from both servers make versions without a gap', { skip }, async () => {
  const { thread_id } = await servers[0].relay.threads.create({ name: 'shared' });
  const patch = (i: number) =>
    servers[i % 2]!.relay.threads.patch(thread_id, {
      ops: [{ op: 'add', path: '/facts/-', value: { id: `f${i}`, key: `k${i}`, value: String(i) } }],
    });
  const versions = await Promise.all(Array.from({ length: 12 }, (_, i) => patch(i)));
  assert.deepEqual(
    versions.map(({ version }) => version).sort((x, y) => x - y),
    Array.from({ length: 12 }, (_, i) => i + 2),
  );
  for (const { relay } of servers) {
    assert.equal((await relay.threads.state(thread_id)).facts.length, 12);
  }
});

test('a server finds documents that the other server indexed, and no longer after their deletion', {
  skip,
}, async () => {
  const [a, b] = servers.map(({ engine }) => engine.index) as [NatsEngine['index'], NatsEngine['index']];
  const text = `zebra ${'filler '.repeat(100_000)}`;
  await a.put('two.find/1', text, { n: 1 });
  assert.equal((await b.search('two.find/', 'zebra')).length, 1);
  await a.remove('two.find/1');
  assert.equal((await b.search('two.find/', 'zebra')).length, 0);
});

test('only one server at a time sweeps', { skip }, async () => {
  const [a, b] = servers;
  await a.engine.records.put('sys/tidying', null, { expect: 'absent', expiresAt: a.engine.now() + 60_000 });
  const tidied: string[] = [];
  b.core.channels.sweep = async () => void tidied.push('b');
  await b.core.sweepStore();
  assert.deepEqual(tidied, []);
  await a.engine.records.delete('sys/tidying');
  await b.core.sweepStore();
  assert.deepEqual(tidied, ['b']);
});

test('receipts, statistics and key usage survive the server that wrote them', {
  skip,
}, async () => {
  const url = `${cluster.url}/t${randomUUID().slice(0, 8)}`;
  const [a, b] = [await openServer(url, 'a'), await openServer(url, 'b')];
  const { key, id: keyId } = await a.relay.keys.create({ name: 'ann', tenant: 'acme' });
  const caller = (await a.core.keys.authenticate(key))!;
  const ann = a.core.relay(caller, 'http://a.test');
  const { id } = await ann.pointers.push({ body: new TextEncoder().encode('hello') });
  await ann.pointers.pull(id);
  await a.core.close();
  await a.engine[Symbol.asyncDispose]();
  const heir = b.core.relay(caller, 'http://b.test');
  const { receipts } = await heir.receipts.get(id);
  assert.ok(receipts.some((receipt) => JSON.stringify(receipt).includes('pulled')));
  const used = (await b.relay.keys.list({ tenant: 'acme' })).find((each) => each.id === keyId);
  assert.ok(used?.last_used_at);
  assert.match(JSON.stringify(await heir.usage.get({})), /"push/);
  await b.core.close();
  await b.engine[Symbol.asyncDispose]();
});

test('an engine uses the clock of its machine and warns if it differs from the clock of the cluster', {
  skip,
}, async () => {
  const now = Date.now() - 60_000;
  const behind: Env = { ...systemEnv, now: () => now };
  await using engine = await openNats({ url: `${cluster.url}/t${randomUUID().slice(0, 8)}`, env: behind });
  assert.equal(engine.now(), now);
  const { warnings, leader, replicas } = await engine.state();
  assert.match(warnings.join(), /^The clock of this machine is 6\d s behind the clock of the cluster\.$/);
  assert.equal(replicas, 3);
  assert.match(leader!, /^n[123]$/);
});

test('the clock difference allows for the time of the request', () => {
  const stamp = new Date(100_000).toISOString();
  assert.equal(clockAhead(stamp, 99_000, 101_000), 0);
  assert.equal(clockAhead(stamp, 90_000, 110_000), 0, 'a slow answer says little');
  assert.equal(clockAhead(stamp, 107_000, 108_000), 7_000);
  assert.equal(clockAhead(stamp, 92_000, 93_000), -7_000);
  assert.equal(clockAhead(undefined, 92_000, 93_000), 0);
});

test('a relay with a wrong clock warns in its log, in /ready and in doctor', { skip }, async () => {
  using place = temporaryHome();
  const shifted = 'const now = Date.now; Date.now = () => now() + 3_600_000';
  const env = {
    RELAY_ENGINE: `${cluster.url}/t${randomUUID().slice(0, 8)}`,
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(shifted)}`,
  };
  const run = (...args: string[]) => relay(args, { home: place.home, env });
  const up = await run('up', '--detach', '--port', '0', '--json');
  assert.equal(up.code, 0, up.stderr);
  try {
    const { url, log } = JSON.parse(up.stdout) as { url: string; log: string };
    const warning = /The clock of this machine is \d+ s ahead of the clock of the cluster/;
    const ready = (await (await fetch(`${url}/ready`)).json()) as { warnings: string[] };
    assert.match(ready.warnings.join(), warning);
    await until(() => warning.test(readFileSync(log, 'utf8')));
    assert.match((await run('doctor')).stdout, /^warning +clock: .* ahead of the clock of the cluster$/m);
  } finally {
    await run('down');
  }
});

test('an unreachable and an invalid address are rejected', { skip }, async () => {
  await assert.rejects(openNats({ url: 'nats://127.0.0.1:1' }), { code: 'cluster_unusable' });
  await assert.rejects(openNats({ url: 'nats://a b' }), { code: 'bad_config' });
});

async function openServer(url: string, name: string): Promise<Server> {
  const engine = await openNats({ url });
  const core = new RelayCore({ engine, env: systemEnv, texts: ownTextWork }, { auth: 'keys' });
  return { engine, core, relay: core.relay(LOCAL_CALLER, `http://${name}.test`) };
}
