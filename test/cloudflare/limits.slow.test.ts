import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { memoryGrowth } from '../../bench/worker-growth.ts';
import { bundleWorker } from '../../scripts/cloudflare/bundle.ts';
import * as cost from '../../scripts/cloudflare/cost.ts';
import { startWorker } from '../../scripts/cloudflare/local-worker.ts';
import { systemEnv } from '../../src/base/env.ts';
import { pause } from '../../src/base/pause.ts';
import { ROWS } from '../written-rows.ts';
import { hostWorker } from './worker-relay.ts';

/** Limits of the free plan, which a local workerd does not enforce. */
const SCRIPT_BYTES = 3 * 1024 * 1024;
const CALLS = 50;
/** Maximum memory of an isolate in MB, on every plan. */
const MEMORY_MB = 128;

let worker: Awaited<ReturnType<typeof startWorker>>;
before(async () => {
  worker = await startWorker({ entry: join(import.meta.dirname, 'counting-worker.ts') });
});
after(() => worker.stop());

/** Sends a request and returns the response with the number of calls of the Worker. */
async function ask(
  path: string,
  o: RequestInit = {},
): Promise<{ body: string; calls: number; status: number }> {
  const response = await fetch(worker.url + path, o);
  const body = await response.text();
  return { body, calls: Number(response.headers.get('x-calls')), status: response.status };
}

const json = (body: unknown): RequestInit => ({
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
});

test('the bundle with the token table fits the free plan', async () => {
  const { script, table } = await bundleWorker();
  const size = gzipSync(script).length + gzipSync(table).length;
  assert.ok(size < SCRIPT_BYTES, `${size} bytes compressed`);
});

test('every operation makes a bounded number of calls, and a listing of a hundred channels as many as of one', async () => {
  const made: Record<string, number> = {};
  const note = async (name: string, path: string, o?: RequestInit) => {
    const { body, calls, status } = await ask(path, o);
    assert.ok(status < 300, `${name}: ${status} ${body}`);
    assert.ok(calls > 0, `${name} is counted`);
    made[name] = Math.max(made[name] ?? 0, calls);
    return body;
  };
  const pushed = JSON.parse(
    await note('push', '/push', json({ data: 'a', channel: 'c0', metadata: { a: 1 } })),
  );
  await note('push to no channel', '/push', json({ data: 'a' }));
  await note('pointers', '/pointers');
  await note('pull', `/pull/${pushed.id}`);
  await note('part', `/pull/${pushed.id}?lines=1-1`);
  await note('peek', `/peek/${pushed.id}`);
  await note('list of one', '/channels');
  for (let i = 1; i < 100; i++) await ask(`/channels/c${i}`, json({ msg: i }));
  await note('list of a hundred', '/channels');
  const { thread_id } = JSON.parse(await note('thread', '/threads', json({ name: 't' })));
  const fact = { op: 'add', path: '/facts/-', value: { id: 'f', key: 'k', value: 'v' } };
  await note('patch', `/threads/${thread_id}/state/patch`, json([fact]));
  await note(
    'artifact',
    `/threads/${thread_id}/artifacts`,
    json({ name: 'n', type: 'text', mime: 'text/plain', content: 'c' }),
  );
  await note('header', `/threads/${thread_id}/state/header`);
  await note('events', `/threads/${thread_id}/events`);
  await note('search', `/threads/${thread_id}/search?q=c`);
  const straw = 'straw lies in the barn\n'.repeat(90_000);
  await note('large artifact', `/threads/${thread_id}/artifacts?name=barn.txt`, {
    method: 'POST',
    body: `a thimble\n${straw}a needle\n`,
  });
  const seen = JSON.parse(await note('search of it', `/threads/${thread_id}/search?q=thimble+needle`));
  assert.match(seen.hits[0].snippet, /thimble/);
  const [{ searched, size, ref }] = seen.unsearched.artifacts;
  assert.deepEqual([seen.unsearched.indexing, seen.hits[0].ref, size], [false, ref, straw.length + 19]);
  assert.ok(searched >= 1024 * 1024 && searched < size, `${searched} of ${size}`);
  await note('render', `/render/${thread_id}?format=openai`);
  await note('report', `/reports/${thread_id}`, json({ format: 'md' }));
  await note('tasks', '/tasks');
  await note('stats', '/stats');
  await note('large push', '/push', { method: 'POST', body: new Uint8Array(24 * 1024 * 1024) });
  const above = Object.entries(made).filter(([, calls]) => calls > CALLS);
  assert.deepEqual(above, [], JSON.stringify(made));
  assert.equal(made['list of a hundred'], made['list of one']);
  assert.deepEqual([made.pull, made.peek], [2, 1], JSON.stringify(made));
  // Three calls: the handle, the push itself and its activity entry. The last may come after the response.
  assert.ok(made['push to no channel']! <= 3, JSON.stringify(made));
});

for (const form of ['raw', 'json'] as const)
  test(`a push and a pull of 25 MB (${form}) stay within the memory of an isolate`, {
    skip: process.platform !== 'linux' && 'memory is read from /proc',
  }, async (t) => {
    const grown = await memoryGrowth(form, 25_000_000);
    for (const [verb, megabytes] of Object.entries(grown)) {
      t.diagnostic(`a ${verb} added ${megabytes.toFixed()} MB`);
      assert.ok(megabytes > 0 && megabytes < MEMORY_MB, `a ${verb} added ${megabytes} MB`);
    }
  });

test('many logs are read completely, although they exceed the size of one answer', async (t) => {
  const { engine, dispose } = await hostWorker({ env: systemEnv, step: () => ({ shift: 0 }) });
  t.after(dispose);
  const streams = Array.from({ length: 30 }, (_, i) => `chn.local.c${i}`);
  const texts = ['a', 'b', 'ж'].map((letter) => letter.repeat(400_000));
  for (const text of texts) await Promise.all(streams.map((stream) => engine.logs.append(stream, text)));
  const pages = await Promise.all(streams.map((stream) => engine.logs.read(stream)));
  for (const { entries } of pages)
    assert.ok(entries.length === 3 && entries.every(({ data }, i) => data === texts[i]));
});

test('metrics are rejected with a reason, because they would call every object', async () => {
  // The first request of a minute also records the tenants' storage and makes calls for it, so measure the second.
  await ask('/metrics');
  const { body, calls, status } = await ask('/metrics');
  assert.deepEqual([status, calls], [404, 0]);
  assert.match(JSON.parse(body).hint, /GET \/usage/);
});

test('a push and a pull need no more calls and rows than docs/scaling.md assumes', async (t) => {
  const counted = async () => {
    // Poll until nothing changes any more, so that write-behind calls are included.
    for (let before = ''; ; await pause(2_000)) {
      const { body } = await ask('/counted');
      if (body === before) return JSON.parse(body) as { calls: number; written: number };
      before = body;
    }
  };
  const push = async () =>
    JSON.parse((await ask('/push', json({ data: 'x'.repeat(1000), channel: 'cost' }))).body) as {
      id: string;
    };
  // Warm up: every object creates its tables on its first call.
  for (let round = 0; round < 40; round++) {
    const made = await Promise.all(Array.from({ length: 10 }, push));
    await Promise.all(made.map(({ id }) => ask(`/pull/${id}`)));
  }
  const times = 50;
  const spent = async (work: () => Promise<unknown>) => {
    const before = await counted();
    for (let i = 0; i < times; i++) await work();
    const after = await counted();
    const each = (name: keyof typeof after) => (after[name] - before[name]) / times;
    return { calls: each('calls'), written: each('written') };
  };
  const ids: string[] = [];
  const pushed = await spent(async () => ids.push((await push()).id));
  const pulled = await spent(() => ask(`/pull/${ids.pop()}`));
  for (const [name, found] of Object.entries({ push: pushed, pull: pulled })) {
    t.diagnostic(`${name}: ${JSON.stringify(found)}`);
    const kind = name as 'push' | 'pull';
    const most = { calls: cost.CALLS[kind], written: Math.min(ROWS[kind], cost.ROWS_WRITTEN[kind]) };
    for (const unit of ['calls', 'written'] as const)
      assert.ok(found[unit] > 0 && found[unit] <= most[unit], `${name}: ${JSON.stringify({ found, most })}`);
  }
});
