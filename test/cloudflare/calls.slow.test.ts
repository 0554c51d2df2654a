import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import * as cost from '../../scripts/cloudflare/cost.ts';
import { startWorker } from '../../scripts/cloudflare/local-worker.ts';
import { pause } from '../../src/base/pause.ts';

const ADMIN = 'an-admin-key-of-a-test-that-is-long-enough';
const MANY = 100;
const TIMES = 50;

interface Counted {
  /** Calls of the Worker and of its objects to objects. */
  readonly calls: number;
  /** Calls to the bucket. */
  readonly bucket: number;
  readonly written: number;
}

async function start(keys: boolean) {
  const entry = join(import.meta.dirname, 'counting-worker.ts');
  const worker = await startWorker({ entry, ...(keys ? { open: false, adminKey: ADMIN } : {}) });
  let key = ADMIN;
  const ask = async (path: string, o: RequestInit = {}) => {
    const authorization = keys ? { Authorization: `Bearer ${key}` } : null;
    const answer = await fetch(worker.url + path, {
      ...o,
      headers: { ...authorization, ...(o.headers as object) },
    });
    if (answer.status >= 300) assert.fail(`${path}: ${answer.status} ${await answer.text()}`);
    return new Uint8Array(await answer.arrayBuffer());
  };
  const post = async (path: string, body: unknown) => {
    const headers = { 'Content-Type': 'application/json' };
    return JSON.parse(
      new TextDecoder().decode(await ask(path, { method: 'POST', headers, body: JSON.stringify(body) })),
    );
  };
  const now = async () => (await (await fetch(`${worker.url}/counted`)).json()) as Counted;
  /** Waits until no write-behind is pending. */
  const counted = async (): Promise<Counted> => {
    for (let before = await now(); ; ) {
      await pause(2_000);
      const after = await now();
      if (after.written === before.written && after.calls === before.calls) return after;
      before = after;
    }
  };
  // The first request of an isolate looks whether an earlier version has left data.
  await fetch(`${worker.url}/health`);
  // Use the key of a tenant, because the admin key is found without the directory.
  if (keys) {
    key = (await post('/keys', { name: 'ada', tenant: 'ada' })).key;
    await counted();
  }
  return { url: worker.url, ask, post, now, counted, [Symbol.asyncDispose]: () => worker.stop() };
}

for (const keys of [false, true]) {
  test(`a request is one call, whatever it does (${keys ? 'keys' : 'open'})`, async () => {
    await using relay = await start(keys);
    const { ask, post } = relay;
    const made: { [name: string]: number } = {};
    const note = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
      const before = (await relay.now()).calls;
      const answer = await work();
      made[name] = (await relay.now()).calls - before;
      return answer;
    };
    const pushed = await note('push', () => post('/push', { data: 'a' }));
    await note('push to a channel', () => post('/push', { data: 'a', channel: 'c' }));
    await note('large push', () => ask('/push', { method: 'POST', body: new Uint8Array(2_000_000) }));
    await note('pull', () => ask(`/pull/${pushed.id}`));
    await note('peek', () => ask(`/peek/${pushed.id}`));
    for (let i = 0; i < MANY; i++) await post(`/channels/c${i}`, { msg: i });
    await note('channels', () => ask('/channels'));
    await note('pointers', () => ask('/pointers?limit=100'));
    const { thread_id: id } = await note('thread', () => post('/threads', { name: 't' }));
    const fact = { op: 'add', path: '/facts/-', value: { id: 'f', key: 'k', value: 'v' } };
    await note('patch', () => post(`/threads/${id}/state/patch`, [fact]));
    const artifact = (i: number) => ({
      name: `n${i}`,
      type: 'text',
      mime: 'text/plain',
      content: `content ${i}`,
    });
    for (let i = 0; i < 10; i++) await note('artifact', () => post(`/threads/${id}/artifacts`, artifact(i)));
    await note('search', () => ask(`/threads/${id}/search?q=content`));
    await note('render', () => ask(`/render/${id}?format=openai`));
    await note('report', () => post(`/reports/${id}`, { format: 'md' }));
    const bundle = await note('export', () => ask(`/threads/${id}/export`));
    await note('deletion of a thread', () => ask(`/threads/${id}`, { method: 'DELETE' }));
    const headers = { 'Content-Type': 'application/zip' };
    await note('import', () => ask('/threads/import', { method: 'POST', headers, body: bundle }));
    const files = Array.from({ length: 60 }, (_, i) => ({ path: `f${i}`, content: `x${i}` }));
    await note('files', () => post('/files/s/write', { files }));
    await note('stats', () => ask('/stats'));
    await note('tasks', () => ask('/tasks'));
    const above = Object.entries(made).filter(([, calls]) => calls !== 1);
    assert.deepEqual(above, [], JSON.stringify(made));
  });
}

test('a pull without a key finds the object of the pointer by its id', async () => {
  await using relay = await start(true);
  const { id } = await relay.post('/push', { data: 'a', visibility: 'link' });
  const before = (await relay.counted()).calls;
  const answer = await fetch(`${relay.url}/pull/${id}?raw=1`);
  assert.equal(await answer.text(), 'a');
  assert.equal((await relay.counted()).calls, before + 1);
});

test('pushes and pulls write no more rows than docs/scaling.md assumes', async (t) => {
  await using relay = await start(false);
  const push = (o: object) => relay.post('/push', { data: 'x'.repeat(1000), ...o });
  // Warm up, so that one-time rows are not counted, such as the channel's list entry.
  for (let i = 0; i < 20; i++) await relay.ask(`/pull/${(await push({ channel: 'cost' })).id}`);
  const spent = async (work: () => Promise<unknown>) => {
    const before = await relay.counted();
    for (let i = 0; i < TIMES; i++) await work();
    const atOnce = await relay.now();
    const after = await relay.counted();
    const each = (figure: number) => figure / TIMES;
    return {
      calls: each(after.calls - before.calls),
      written: each(after.written - before.written),
      beforeTheAnswer: each(atOnce.written - before.written),
    };
  };
  const ids: string[] = [];
  const plain = await spent(async () => ids.push((await push({})).id));
  const announced = await spent(() => push({ channel: 'cost' }));
  const peek = await spent(() => relay.ask(`/peek/${ids[0]}`));
  const pull = await spent(() => relay.ask(`/pull/${ids.pop()}`));
  t.diagnostic(JSON.stringify({ plain, announced, peek, pull }));
  for (const { calls } of [plain, announced, peek, pull]) assert.equal(calls, 1);
  assert.ok(plain.written <= cost.ROWS_WRITTEN.plain, `push: ${plain.written}`);
  assert.ok(announced.written <= cost.ROWS_WRITTEN.push, `push to a channel: ${announced.written}`);
  assert.ok(pull.written <= cost.ROWS_WRITTEN.pull, `pull: ${pull.written}`);
  assert.deepEqual([peek.written, pull.beforeTheAnswer], [0, 0]);
});

test('a pull with a made-up id creates no object', async () => {
  await using relay = await start(true);
  const { written } = await relay.counted();
  for (let i = 1; i <= 9; i++) {
    const answer = await fetch(`${relay.url}/pull/${`${i}`.repeat(8)}-1111-8111-8111-111111111111`);
    assert.equal(answer.status, 404);
  }
  assert.equal((await relay.counted()).written, written);
});
