import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { RelayError } from '../../src/base/errors.ts';
import { openSqlite } from '../../src/engines/sqlite/engine.ts';
import { temporaryHome } from '../cli/program.ts';
import { fillUp, smallDisk } from '../sqlite/small-disk.ts';
import { until } from '../until.ts';
import { pushRaw, startRelay } from './relay-under-test.ts';

const ask = async (url: string) => {
  const response = await fetch(url);
  const retryAfter = response.headers.get('retry-after');
  return { status: response.status, body: await response.json(), ...(retryAfter ? { retryAfter } : {}) };
};

const scrape = async (url: string) => (await fetch(`${url}/metrics`)).text();

test('while the store does not answer, /health answers, /ready says why, and /metrics has the process', async () => {
  using place = temporaryHome();
  await using relay = await startRelay({ open: (env) => openSqlite({ home: place.home, env }) });
  await until(async () => /^relay_store_payloads 0$/m.test(await scrape(relay.url)));
  const { list } = relay.engine.records;
  relay.engine.records.list = () => new Promise(() => {});
  try {
    assert.equal((await ask(`${relay.url}/health`)).status, 200);
    const { status, body, retryAfter } = await ask(`${relay.url}/ready`);
    assert.deepEqual([status, body.code, retryAfter], [503, 'store_unavailable', '1']);
    assert.match(body.error, /did not answer within 2 seconds/);
    assert.match(await scrape(relay.url), /^process_resident_memory_bytes \d+$/m);
  } finally {
    relay.engine.records.list = list;
  }
});

test('a server whose store was closed is alive, but not ready', async () => {
  using place = temporaryHome();
  await using relay = await startRelay({ open: (env) => openSqlite({ home: place.home, env }) });
  for (const path of ['/health', '/ready']) {
    assert.equal((await ask(relay.url + path)).status, 200);
    assert.equal((await ask(relay.url + path)).status, 200);
  }
  const { answer } = await pushRaw(relay, 'something');
  await relay.engine[Symbol.asyncDispose]();
  assert.deepEqual(await ask(`${relay.url}/health`), {
    status: 200,
    body: { status: 'ok', version: 'test' },
  });
  for (const path of ['/ready', `/pull/${answer.id}`, '/channels', '/threads']) {
    const { status, body, retryAfter } = await ask(relay.url + path);
    assert.equal(status, 503, JSON.stringify(body));
    assert.equal(retryAfter, '1');
    assert.equal(body.code, 'store_unavailable');
    assert.match(body.error, /The store cannot be read or written\. It was closed\./);
  }
  await until(async () => /^relay_store_up 0$/m.test(await scrape(relay.url)));
});

test('A2A says when to try again if the store rejects writes', async () => {
  await using relay = await startRelay();
  const { records } = relay.engine;
  const put = records.put.bind(records);
  records.put = () => Promise.reject(new RelayError('store_unavailable', { what: 'No quorum.' }));
  const message = { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'hello' }] };
  const headers = { 'Content-Type': 'application/json', 'A2A-Version': '1.0' };
  const body = JSON.stringify({ message });
  const answer = await fetch(`${relay.url}/a2a/relay/message:send`, { method: 'POST', headers, body });
  assert.deepEqual([answer.status, answer.headers.get('retry-after')], [503, '1'], await answer.text());
  records.put = put;
});

test('a server with a full disk stays ready and reports that it is not writable until there is room', async (t) => {
  const home = smallDisk(t);
  if (!home) return;
  await using relay = await startRelay({ open: (env) => openSqlite({ home, env }) });
  fillUp(home);
  let answer = await ask(`${relay.url}/ready`);
  await until(async () => {
    // Use up the free pages of the database. Otherwise small writes would still fit.
    await fetch(`${relay.url}/push`, { method: 'POST', body: 'x'.repeat(3_000) }).catch(() => {});
    answer = await ask(`${relay.url}/ready`);
    return answer.body.writable === false;
  });
  assert.equal(answer.status, 200, 'a load balancer must not keep people from deleting');
  assert.match(answer.body.warnings.join(), /no room left.*relay prune/);
  assert.deepEqual((await ask(`${relay.url}/health`)).body, { status: 'ok', version: 'test' });
  await until(async () => /^relay_store_writable 0$/m.test(await scrape(relay.url)));
  rmSync(join(home, 'filler'));
  await until(async () => !('writable' in (await ask(`${relay.url}/ready`)).body));
});
