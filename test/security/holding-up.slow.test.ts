import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { TextWorkers } from '../../src/app/store/text-workers.ts';
import { LOCAL_CALLER } from '../../src/contract/caller.ts';
import { openSqlite } from '../../src/engines/sqlite/engine.ts';
import { callerNamed } from '../channels/core.ts';
import {
  type Failure,
  pushRaw,
  type RelayOptions,
  type RelayUnderTest,
  startRelay,
} from '../http/relay-under-test.ts';
import { type AskOptions, startGuarded } from '../keys/guarded-relay.ts';
import { until } from '../until.ts';

const MB = 1024 * 1024;
const LARGE = 24 * MB;

/** Large payloads whose parts are slow to find. */
const NASTY = {
  newlines: '\n'.repeat(LARGE),
  objects: `[${'{},'.repeat(LARGE / 3 - 2)}{}]`,
  line: `"${'\\"'.repeat(LARGE / 2 - 2)}"`,
};

let home: string;
before(() => {
  home = mkdtempSync(join(tmpdir(), 'relay-holding-up-'));
});
after(() => rmSync(home, { recursive: true, force: true }));

let folderCount = 0;
/** Starts a relay as in production: payloads on disk, and worker threads for text work. */
async function startWith(texts: TextWorkers, server: RelayOptions['server'] = {}): Promise<RelayUnderTest> {
  const folder = join(home, String(folderCount++));
  return startRelay({ open: () => openSqlite({ home: folder, role: 'server' }), texts, server });
}

const failure = async (response: Response) => (await response.json()) as Failure;

test('forty requests for parts of hostile payloads block nobody, and end with their clients', async () => {
  await using texts = new TextWorkers();
  await using relay = await startWith(texts);
  const urls: string[] = [];
  for (const body of Object.values(NASTY)) urls.push((await pushRaw(relay, body)).answer.url);
  const queries = ['json=/0', 'outline=1', 'lines=-20', 'cost=1', 'grep=(x%2Bx%2B)%2By'];
  const controller = new AbortController();
  const requests = Array.from({ length: 40 }, (_, i) =>
    fetch(`${urls[i % urls.length]}?${queries[i % queries.length]}`, { signal: controller.signal }),
  );
  const ended = Promise.allSettled(requests);
  await until(() => texts.jobs.waiting >= 20);
  for (let i = 0; i < 20; i++) assert.equal((await fetch(`${relay.url}/health`)).status, 200);
  const { answer } = await pushRaw(relay, 'first\nsecond\n');
  assert.equal(await (await fetch(`${answer.url}?lines=2`)).text(), 'second', 'short texts need not wait');
  assert.ok(
    texts.jobs.waiting >= 20,
    'those who asked for little were answered before those who asked for much',
  );
  controller.abort();
  await ended;
  await until(() => texts.jobs.running === 0 && texts.jobs.waiting === 0);
  assert.equal(await (await fetch(`${urls[1]}?json=/1`)).text(), '{}');
  assert.deepEqual(
    relay.log.filter(({ level }) => level === 'error'),
    [],
  );
});

test('JSON that is nested too deeply is refused, whatever part is requested', async () => {
  await using texts = new TextWorkers();
  await using relay = await startWith(texts);
  for (const body of ['['.repeat(LARGE), '{"a":'.repeat(LARGE / 5), `${'['.repeat(65)}${']'.repeat(65)}`]) {
    const { answer } = await pushRaw(relay, body);
    for (const query of ['json=/0', 'json=', 'outline=1', 'outline=1&cost=1']) {
      const response = await fetch(`${answer.url}?${query}`);
      assert.equal(response.status, 422);
      assert.match((await failure(response)).error, /nested too deeply, more than 64 levels/);
    }
  }
});

test('a full queue answers 503 with Retry-After', async () => {
  await using texts = new TextWorkers({ waiting: 2 });
  await using relay = await startWith(texts);
  const { url } = (await pushRaw(relay, NASTY.newlines)).answer;
  const controller = new AbortController();
  const requests = [1, 2, 3].map(() => fetch(`${url}?lines=-20`, { signal: controller.signal }));
  const ended = Promise.allSettled(requests);
  await until(() => texts.jobs.waiting === 2);
  const refused = await fetch(`${url}?lines=-20`);
  assert.equal(refused.status, 503);
  assert.match(refused.headers.get('retry-after')!, /^\d+$/);
  assert.equal((await failure(refused)).code, 'overloaded');
  controller.abort();
  await ended;
});

test('a tenant with a full queue does not block another tenant', async () => {
  await using texts = new TextWorkers({ waiting: 2 });
  await using relay = await startGuarded({ core: { defaultPlan: 'team' }, texts });
  const push = async (tenant: string, body: string) => {
    const ownerRelay = relay.core.relay(callerNamed('owner', tenant), relay.url);
    return (await ownerRelay.pointers.push({ body: Buffer.from(body) })).id;
  };
  const [greedy, modest] = [await relay.key({ tenant: 'greedy' }), await relay.key({ tenant: 'modest' })];
  const [large, small] = [await push('greedy', NASTY.newlines), await push('modest', 'x\n'.repeat(100_000))];
  const controller = new AbortController();
  const ask = (key: string, id: string) => {
    const headers = { Authorization: `Bearer ${key}` };
    return fetch(`${relay.url}/pull/${id}?lines=-1`, { headers, signal: controller.signal });
  };
  const ended = Promise.allSettled([1, 2, 3].map(() => ask(greedy.key, large)));
  await until(() => texts.jobs.waiting === 2);
  assert.equal((await ask(greedy.key, large)).status, 503);
  assert.equal((await ask(modest.key, small)).status, 200);
  controller.abort();
  await ended;
});

test('work that takes too much memory or time is aborted with an error, and the server goes on', async () => {
  for (const [limit, says] of [
    [{ memoryMb: 16 }, /memory/],
    [{ timeMs: 50 }, /time/],
  ] as const) {
    await using texts = new TextWorkers({ ...limit });
    await using relay = await startWith(texts);
    const { url } = (await pushRaw(relay, `[1${' '.repeat(LARGE)}`)).answer;
    const nasty = says.source === 'time' ? (await pushRaw(relay, NASTY.newlines)).answer.url : url;
    const response = await fetch(`${nasty}?${says.source === 'time' ? 'lines=-20' : 'json=/0'}`);
    assert.equal(response.status, 422);
    const { code, error } = await failure(response);
    assert.equal(code, 'too_costly');
    assert.match(error, says);
    assert.equal((await fetch(`${relay.url}/health`)).status, 200);
  }
});

test("work on a payload counts against its caller's rate limit by the bytes read", async () => {
  await using texts = new TextWorkers();
  await using relay = await startWith(texts, { rateLimits: { perKey: 1, perAddress: 1, burst: 4 } });
  const { url } = (await pushRaw(relay, 'x\n'.repeat(8 * MB))).answer;
  assert.equal((await fetch(`${url}?lines=1`)).status, 200, 'what is read of it counts, not its size');
  assert.equal((await fetch(`${url}?lines=-1`)).status, 200);
  const refused = await fetch(`${url}?lines=1`);
  assert.equal(refused.status, 429);
  assert.ok(Number(refused.headers.get('retry-after')) >= 8);
});

test('work for a push, for an artifact or over MCP counts against the rate limit too', async () => {
  await using texts = new TextWorkers();
  // A bucket has 0.001 × 5 500 = 5.5 tokens, enough for 5 requests, and hardly refills during the test.
  await using relay = await startGuarded({
    core: { defaultPlan: 'team' },
    texts,
    server: { rateLimits: { perKey: 0.001, perAddress: 0.001, burst: 5_500 } },
  });
  const ownerRelay = relay.core.relay(callerNamed('owner', 'acme'), relay.url);
  const body = 'x\n'.repeat(1.5 * MB);
  const { id } = await ownerRelay.pointers.push({ body: Buffer.from(body) });
  const { thread_id } = await ownerRelay.threads.create();
  const { ref } = await ownerRelay.threads.putArtifact(thread_id, { body: Buffer.from(body), name: 'a.txt' });
  const tool = (name: string, args: object) => ({
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } },
    headers: { Accept: 'application/json, text/event-stream' },
  });
  const asks: (readonly [path: string, AskOptions])[] = [
    ['/push?count=1', { body }],
    [`/threads/${thread_id}/artifacts?name=a.txt`, { body }],
    ['/mcp', tool('pull_context', { url: id, part: 'lines=-1' })],
    ['/mcp', tool('artifact_get', { thread_id, ref, part: 'lines=-1' })],
    ['/mcp', tool('pull_context', { url: id })],
  ];
  for (const [path, ask] of asks) {
    const { key } = await relay.key();
    const answer = await relay.ask('POST', path, { ...ask, key });
    assert.ok(answer.status < 300 && !answer.text.includes('isError'), answer.text);
    assert.equal((await relay.ask('GET', '/channels', { key })).status, 200);
    const message = `${path} costs its 3 MB and not only a request`;
    assert.equal((await relay.ask('GET', '/channels', { key })).status, 429, message);
  }
});

test('JSON that is nested too deeply or holds too many values is refused before it is parsed', async () => {
  await using relay = await startRelay();
  const { thread_id } = await relay.core.relay(LOCAL_CALLER, relay.url).threads.create();
  const nasty: [string, RegExp][] = [
    ['['.repeat(1.9 * MB), /nested more than 64 levels deep/],
    [`{"a":"\\"${'['.repeat(100)}","b":[${'{},'.repeat(500_000)}{}]}`, /more than 200000 values/],
  ];
  for (const path of ['/mcp', '/a2a', '/threads', `/threads/${thread_id}/state/patch`]) {
    for (const [body, says] of nasty) {
      const headers = { 'Content-Type': 'application/json', 'A2A-Version': '1.0' };
      const answer = await fetch(relay.url + path, { method: 'POST', headers, body });
      assert.equal(answer.status, 400, path);
      assert.match((await failure(answer)).error, says, path);
    }
  }
});

test('over HTTP a tool limits the size of its answer, and says what to do', async () => {
  await using relay = await startRelay();
  const ownerRelay = relay.core.relay(LOCAL_CALLER, relay.url);
  const body = Buffer.from('x\n'.repeat(2.5 * MB));
  const { id: url } = await ownerRelay.pointers.push({ body });
  const { thread_id } = await ownerRelay.threads.create();
  const { ref } = await ownerRelay.threads.putArtifact(thread_id, { body, name: 'a.bin', type: 'binary' });
  for (const [name, args] of [
    ['pull_context', { url, part: 'all' }],
    ['artifact_get', { thread_id, ref, part: 'all' }],
  ] as const) {
    const answer = await fetch(`${relay.url}/mcp`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name, arguments: args },
      }),
    });
    assert.match(await answer.text(), /an answer over HTTP.*parts of it, or use relay pull/i);
  }
});
