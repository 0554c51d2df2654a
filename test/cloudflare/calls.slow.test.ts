import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { startWorker } from '../../scripts/cloudflare/local-worker.ts';
import { pause } from '../../src/base/pause.ts';
import { eventData } from '../../src/sdk/event-stream.ts';
import { a2aClient, request } from '../a2a/agents.ts';
import { webhookAt } from '../a2a/receiver.ts';

/** Maximum number of calls per request on the free plan. workerd does not enforce this limit. */
const CALLS = 50;
/** Requests that may make more calls for more data, as docs/cloudflare.md says. */
const GROWING = ['import'];
const ADMIN = 'an-admin-key-of-a-test-that-is-long-enough';
const MANY = 100;

interface Counted {
  readonly named: Record<string, number>;
  readonly inside: Record<string, number>;
}

async function start(keys: boolean) {
  const entry = join(import.meta.dirname, 'counting-worker.ts');
  const worker = await startWorker({ entry, ...(keys ? { open: false, adminKey: ADMIN } : {}) });
  let key = ADMIN;
  /** Sends a request. Its calls, including those after the response, are counted under `name`. */
  const ask = async (name: string, path: string, o: RequestInit = {}) => {
    const authorization = keys ? { Authorization: `Bearer ${key}` } : null;
    const headers = { ...authorization, ...(o.headers as object), 'X-Count-As': name };
    const answer = await fetch(worker.url + path, { ...o, headers });
    if (answer.status >= 300) assert.fail(`${name}: ${answer.status} ${await answer.text()}`);
    return answer;
  };
  const post = (name: string, path: string, body: unknown) =>
    ask(name, path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
  // Use a normal key instead of an admin key, because an admin key needs fewer lookups.
  if (keys) key = (await (await post('key', '/keys', { name: 'ada', tenant: 'ada' })).json()).key;
  /** Waits until no write-behind is pending. */
  const counted = async (): Promise<Counted> => {
    for (let before = ''; ; await pause(1500)) {
      const text = await (await fetch(`${worker.url}/counted`)).text();
      if (text === before) return JSON.parse(text);
      before = text;
    }
  };
  const fill = async (times: number, path: string, body: (i: number) => unknown) => {
    const made = [];
    for (let i = 0; i < times; i++) made.push(await (await post('filling', path, body(i))).json());
    return made;
  };
  return { url: worker.url, ask, post, fill, counted, [Symbol.asyncDispose]: () => worker.stop() };
}

function assertFew({ named, inside }: Counted, growing: readonly string[] = []): void {
  const { filling: _, key: __, ...made } = named;
  const above = Object.entries({ ...made, ...inside }).filter(([, calls]) => calls > CALLS);
  assert.deepEqual(
    above.filter(([name]) => !growing.includes(name)),
    [],
    JSON.stringify({ named, inside }),
  );
}

const artifact = (i: number) => ({
  name: `n${i}`,
  type: 'text',
  mime: 'text/plain',
  content: `content ${i}`,
});

for (const keys of [false, true]) {
  test(`no request makes more calls than the free plan allows, even after its response (${keys ? 'keys' : 'open'})`, async () => {
    await using relay = await start(keys);
    const { ask, post, fill } = relay;
    const pushed = await (await post('push', '/push', { data: 'a' })).json();
    await post('push to a channel', '/push', { data: 'a', channel: 'c' });
    await (await ask('pull', `/pull/${pushed.id}`)).text();
    await ask('peek', `/peek/${pushed.id}`);
    await fill(MANY, '/push', () => ({ data: 'a' }));
    await ask('pointers', '/pointers?limit=100');
    const threads = await fill(MANY, '/threads', (i) => ({ name: `t${i}` }));
    const [{ thread_id: id }] = threads;
    await ask('threads', '/threads');
    await ask('some threads', '/threads?limit=20');
    await ask('stats for the first time', '/stats');
    for (const { thread_id } of threads.slice(0, 60))
      await post('patch', `/threads/${thread_id}/state/patch`, [
        { op: 'add', path: '/facts/-', value: { id: 'f', key: 'k', value: 'v' } },
      ]);
    await ask('stats', '/stats');
    await fill(MANY, `/threads/${id}/artifacts`, artifact);
    await post('artifact', `/threads/${id}/artifacts`, artifact(MANY));
    await ask('artifacts', `/threads/${id}/artifacts?limit=100`);
    await ask('header', `/threads/${id}/state/header`);
    await ask('events', `/threads/${id}/events`);
    await ask('search', `/threads/${id}/search?q=content`);
    await ask('render', `/render/${id}?format=openai`);
    await post('report', `/reports/${id}`, { format: 'md' });
    await ask('tasks', '/tasks');
    const bundle = await (await ask('export', `/threads/${id}/export`)).bytes();
    await ask('deletion of a thread', `/threads/${id}`, { method: 'DELETE' });
    const headers = { 'Content-Type': 'application/zip' };
    await ask('import', '/threads/import', { method: 'POST', headers, body: bundle });
    const files = Array.from({ length: 60 }, (_, i) => ({ path: `f${i}`, content: `x${i}` }));
    const paths = files.map(({ path }) => path);
    await post('files/write', '/files/s/write', { files });
    await post('files/write again', '/files/s/write', { files });
    await ask('files', '/files/s');
    await post('files/read', '/files/s/read', { paths });
    await ask('deletion of a file', '/files/s/f0', { method: 'DELETE' });
    await post('files/delete', '/files/s/delete', { paths });
    const counted = await relay.counted();
    const each = { patch: Math.ceil(counted.named.patch! / 60) };
    assertFew({ ...counted, named: { ...counted.named, ...each } }, GROWING);
  });
}

test('a stream of messages ends before its request runs out of calls, and can be resumed', async () => {
  await using relay = await start(false);
  const seen: number[] = [];
  let streams = 0;
  const all = Array.from({ length: 70 }, (_, i) => i);
  const follow = async () => {
    for (let last = '0'; seen.length < all.length; ) {
      const headers = { 'Last-Event-ID': last };
      const { body } = await relay.ask(`stream ${++streams}`, '/channels/live/events', { headers });
      for await (const data of eventData(body!)) {
        const { seq, msg } = JSON.parse(data);
        seen.push(msg);
        last = String(seq);
        if (seen.length === all.length) break;
      }
    }
  };
  const following = follow();
  for (const i of all) {
    await relay.post('filling', '/channels/live', { msg: i });
    while (seen.length <= i) await pause(10);
  }
  await following;
  assert.deepEqual([seen, streams], [all, 2]);
  assertFew(await relay.counted());
});

test('the cron continues webhooks and sweeps ended items, in requests with few calls each', async () => {
  await using relay = await start(false);
  const { thread_id } = await (await relay.post('filling', '/threads', { name: 't', ttl: 12 })).json();
  await relay.fill(60, `/threads/${thread_id}/artifacts`, artifact);
  const client = await a2aClient(relay.url, 'JSONRPC');
  for (let i = 0; i < 20; i++) {
    const asked = request('tell me', { immediately: true });
    asked.configuration!.taskPushNotificationConfig = webhookAt('http://127.0.0.1:9/hook');
    await client.sendMessage(asked);
  }
  await pause(12_000);
  const { calls } = await (await fetch(`${relay.url}/cron`)).json();
  assert.ok(calls > 20 && calls <= CALLS, `${calls} calls`);
  const counted = await relay.counted();
  assert.ok(counted.inside.resume! > 0 && counted.inside.tidySome! > 0);
  assertFew(counted);
});
