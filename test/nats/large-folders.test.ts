import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type Env, systemEnv } from '../../src/base/env.ts';
import { everyItem } from '../../src/base/pages.ts';
import { type NatsEngine, openNats } from '../../src/engines/nats/engine.ts';
import { until } from '../until.ts';
import { type Cluster, findNatsServer, startCluster } from './cluster.ts';

const natsServer = await findNatsServer();
const skip = 'missing' in natsServer ? natsServer.missing : false;

/** Number of keys with which a server caches the list of a folder instead of asking the leader each time. */
const MANY = 1_200;

let cluster: Cluster;
let url: string;
let folder: string;
const openEngines: NatsEngine[] = [];
let later = 0;

before(async () => {
  if (skip) return;
  cluster = await startCluster({ fsync: false });
  folder = mkdtempSync(join(tmpdir(), 'relay-folders-'));
});

after(async () => {
  if (skip) return;
  for (const engine of openEngines) await engine[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

test('a large folder is listed correctly, whichever server wrote to it', { skip }, async () => {
  url = `${cluster.url}/t${randomUUID().slice(0, 8)}`;
  const [a, b] = [await open(), await open()];
  const keys = Array.from({ length: MANY }, (_, i) => `big/${key(i)}`);
  // This key is so long that its subject is a hash.
  keys.push(`big/long ${'x'.repeat(300)}`);
  await Promise.all(keys.map((each) => a.records.put(each, 1)));
  assert.deepEqual(await listed(b), keys.toSorted());
  await a.records.put('big/aaa', 1);
  await b.records.put('big/zzz', 1, { expiresAt: b.now() + 60_000 });
  await a.records.delete(keys[7]!);
  await a.records.delete(keys.at(-1)!);
  await a.records.delete(keys[8]!);
  await a.records.put(keys[8]!, 'again');
  const expected = [...keys.filter((_, i) => i !== 7 && i !== MANY), 'big/aaa', 'big/zzz'];
  for (const engine of [a, b]) assert.deepEqual(await listed(engine), expected);
  later = 61_000;
  assert.deepEqual(await listed(b), expected.slice(0, -1));
  assert.deepEqual(await listed(b), expected.slice(0, -1), 'a second time');
  await b.records.put('big/zzz', 'again');
  for (const engine of [a, b]) assert.deepEqual(await listed(engine), expected);
});

test('a page of a large folder takes about as many requests as a page of a small folder', {
  skip,
}, async () => {
  const [, b] = openEngines as [NatsEngine, NatsEngine];
  for (const i of [1, 2, 3]) await b.records.put(`small/${i}`, i);
  const small = await fewest(() => requests(b, () => b.records.list('small/', { limit: 100 })));
  await b.records.list('big/', { limit: 100 });
  const large = await fewest(async () => {
    await openEngines[0]!.records.put('big/aab', 1);
    return requests(b, () => b.records.list('big/', { limit: 100 }));
  });
  assert.ok(small.length <= 3 && large.length <= 6, `${small.length} and ${large.length} requests`);
  const names = [...small, ...large].filter(({ payload }) => payload.includes('subjects_filter'));
  assert.equal(names.length, 1, 'only the listing of the small folder reads all names');
});

/** Returns the smallest of three results, because a lagging node may cause an extra request to the leader. */
async function fewest<T>(measure: () => Promise<readonly T[]>): Promise<readonly T[]> {
  const tries = [await measure(), await measure(), await measure()];
  return tries.toSorted((a, b) => a.length - b.length)[0]!;
}

test('a listing sees concurrent writes and deletions of other servers', { skip }, async () => {
  const [a, b] = openEngines as [NatsEngine, NatsEngine];
  for (let i = 0; i < 60; i++) {
    const [on, off] = [`big/${key(i * 7)}-on`, `big/${key(i * 7 + 20)}`];
    await Promise.all([
      a.records.put(on, i),
      a.records.delete(off),
      b.records.list('big/', { limit: 20 }),
      b.records.list('big/', { after: `big/${key(i)}`, limit: 20 }),
    ]);
    const { items } = await b.records.list('big/', { after: `big/${key(i * 7 - 1)}`, limit: 50 });
    const keys = items.map((item) => item.key);
    assert.ok(keys.includes(on) && !keys.includes(off), `${i}`);
  }
  assert.deepEqual(await listed(b), await listed(a));
});

test('a restarted server continues from its index file, and rebuilds the file if it is missing', {
  skip,
}, async () => {
  const [a] = openEngines as [NatsEngine];
  const file = join(folder, 'index.db');
  const first = await open(file);
  const expected = await listed(first);
  await first.index.put('thr.1/doc', 'a zebra', {});
  assert.equal((await first.index.search('thr.1/', 'zebra')).length, 1);
  await first[Symbol.asyncDispose]();
  await a.records.put('big/while-it-was-gone', 1);
  const again = await open(file);
  const sentRequests = await requests(again, () => again.records.list('big/', { limit: 10 }));
  assert.ok(!sentRequests.some((each) => each.payload.includes('subjects_filter')), 'the file has the names');
  assert.deepEqual(await listed(again), [...expected, 'big/while-it-was-gone'].toSorted());
  await again[Symbol.asyncDispose]();
  rmSync(file);
  const anew = await open(file);
  assert.deepEqual(await listed(anew), [...expected, 'big/while-it-was-gone'].toSorted());
  assert.equal((await anew.index.search('thr.1/', 'zebra')).length, 1);
});

test('a server does not use the index file of another store', { skip }, async () => {
  const file = join(folder, 'index.db');
  const originalUrl = url;
  url = `${cluster.url}/t${randomUUID().slice(0, 8)}`;
  const other = await open(file);
  assert.deepEqual(await listed(other), []);
  assert.equal((await other.index.search('thr.1/', 'zebra')).length, 0);
  await other.index.put('thr.1/doc', 'a heron', {});
  assert.equal((await other.index.search('thr.1/', 'heron')).length, 1);
  url = originalUrl;
  const back = await open(file);
  assert.equal((await back.index.search('thr.1/', 'heron')).length, 0);
  assert.equal((await back.index.search('thr.1/', 'zebra')).length, 1);
});

test('the usage of a large store takes a bounded number of requests', { skip }, async () => {
  const [a] = openEngines as [NatsEngine];
  const before = await a.usage();
  const { nats } = a.connection;
  const name = url.split('/').at(-1)!;
  const missing = 10_100 - before.records;
  for (let i = 0; i < missing; i++) nats.publish(`${name}.r.many.${i}`, '{}\n1');
  await nats.flush();
  await until(async () => (await a.usage()).records >= 10_100);
  const sentRequests = await requests(a, () => a.usage());
  assert.ok(sentRequests.length <= 12, `${sentRequests.length} requests`);
});

async function open(indexFile?: string): Promise<NatsEngine> {
  const env: Env = { ...systemEnv, now: () => Date.now() + later };
  const engine = await openNats({ url, env, ...(indexFile ? { indexFile } : {}) });
  openEngines.push(engine);
  return engine;
}

async function listed({ records }: NatsEngine): Promise<string[]> {
  return Array.fromAsync(
    everyItem('items', (o) => records.list('big/', { ...o, limit: 400 })),
    (item) => item.key,
  );
}

/** Returns the JetStream requests that the engine makes during the work. */
async function requests({ connection: { nats } }: NatsEngine, work: () => Promise<unknown>) {
  const sentRequests: { subject: string; payload: string }[] = [];
  const { publish } = nats;
  nats.publish = (subject, payload, o) => {
    if (subject.startsWith('$JS.')) sentRequests.push({ subject, payload: String(payload) });
    publish.call(nats, subject, payload, o);
  };
  try {
    await work();
  } finally {
    nats.publish = publish;
  }
  // Ignore the polls that the engine regularly sends to the leader.
  return sentRequests.filter(({ subject, payload }) => !subject.endsWith('-logs') || payload !== '{}');
}

function key(i: number): string {
  return String(Math.max(i, 0)).padStart(5, '0');
}
