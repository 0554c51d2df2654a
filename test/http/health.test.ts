import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openSqlite } from '../../src/engines/sqlite/engine.ts';
import { temporaryHome } from '../cli/program.ts';
import { fillUp, smallDisk } from '../sqlite/small-disk.ts';
import { until } from '../until.ts';
import { pushRaw, startRelay } from './relay-under-test.ts';

const ask = async (url: string) => {
  const response = await fetch(url);
  return { status: response.status, body: await response.json() };
};

test('a server reports that its store was closed, although it answered before', async () => {
  using place = temporaryHome();
  await using relay = await startRelay({ open: (env) => openSqlite({ home: place.home, env }) });
  for (const path of ['/health', '/ready']) {
    assert.equal((await ask(relay.url + path)).status, 200);
    assert.equal((await ask(relay.url + path)).status, 200);
  }
  const { answer } = await pushRaw(relay, 'something');
  await relay.engine[Symbol.asyncDispose]();
  for (const path of ['/health', '/ready', `/pull/${answer.id}`, '/channels', '/threads']) {
    const { status, body } = await ask(relay.url + path);
    assert.equal(status, 503, JSON.stringify(body));
    assert.equal(body.code, 'store_unavailable');
    assert.match(body.error, /The store cannot be read or written\. It was closed\./);
  }
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
  assert.deepEqual((await ask(`${relay.url}/health`)).body, {
    status: 'ok',
    version: 'test',
    writable: false,
  });
  assert.match(await (await fetch(`${relay.url}/metrics`)).text(), /^relay_store_writable 0$/m);
  rmSync(join(home, 'filler'));
  await until(async () => !('writable' in (await ask(`${relay.url}/ready`)).body));
});
