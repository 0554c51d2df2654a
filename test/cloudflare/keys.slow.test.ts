import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import { startWorker } from '../../scripts/cloudflare/local-worker.ts';
import { pause } from '../../src/base/pause.ts';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import { httpRelay } from '../../src/sdk/http-relay.ts';
import { until } from '../until.ts';

const ADMIN = 'an-admin-key-for-this-test-alone';
/** Time in ms for which an object trusts its last check of a key. */
const REMEMBERED_MS = 2_000;

test('the admin key creates keys, keys separate tenants, and a revoked key stops working', async (t) => {
  const worker = await startWorker({ open: false, adminKey: ADMIN });
  t.after(() => worker.stop());
  const admin = httpRelay({ baseUrl: worker.url, apiKey: ADMIN });
  const [alice, bob] = await Promise.all([
    admin.keys.create({ name: 'alice', tenant: 'a' }),
    admin.keys.create({ name: 'bob', tenant: 'b' }),
  ]);
  const of = (apiKey: string) => new ContextRelay({ baseUrl: worker.url, apiKey });
  const url = await of(alice.key).push('mine', { channel: 'c' });
  assert.equal(await of(alice.key).pull(url), 'mine');
  await assert.rejects(of(bob.key).pull(url), { code: 'not_found' });
  await assert.rejects(of('cr_live_made_up').pull(url), { code: 'unauthorized' });
  assert.equal((await fetch(`${worker.url}/channels`)).status, 401);
  const heard: string[] = [];
  const subscription = of(alice.key).subscribe('c', (message) => void heard.push(String(message.msg)));
  await subscription.ready;
  await of(bob.key).publish('c', 'from elsewhere');
  await of(alice.key).publish('c', 'from here');
  await until(() => heard.length > 0);
  assert.deepEqual(heard, ['from here'], 'a channel of the same name belongs to each tenant by itself');
  await subscription.close();
  await admin.keys.revoke(alice.id, { tenant: 'a' });
  await assert.rejects(of(alice.key).pull(url), { code: 'unauthorized' });
});

test('two seconds after its key is revoked, a socket gets no messages and cannot acknowledge any', async (t) => {
  const worker = await startWorker({ open: false, adminKey: ADMIN });
  t.after(() => worker.stop());
  const admin = httpRelay({ baseUrl: worker.url, apiKey: ADMIN });
  const [gone, stays] = await Promise.all([
    admin.keys.create({ name: 'gone', tenant: 'a' }),
    admin.keys.create({ name: 'stays', tenant: 'a' }),
  ]);
  const relay = new ContextRelay({ baseUrl: worker.url, apiKey: stays.key });
  const open = async (query: string, { key } = gone) => {
    const ws = new WebSocket(`${worker.url.replace('http', 'ws')}/ws/c${query}`, {
      headers: { Authorization: `Bearer ${key}` },
    });
    const frames: { msg?: unknown; seq?: number; token?: number }[] = [];
    ws.on('message', (data) => frames.push(JSON.parse(String(data))));
    const closed = new Promise<number>((resolve) => ws.once('close', resolve));
    await new Promise((resolve) => ws.once('open', resolve));
    return { ws, frames, closed };
  };
  const [reader, idle, working] = [
    await open(''),
    await open('?group=idle'),
    await open('?group=working&prefetch=1'),
  ];
  await relay.publish('c', 'first');
  await until(() => [reader, idle, working].every(({ frames }) => frames.length === 1));
  const [{ seq, token }] = working.frames as [{ seq: number; token: number }];
  const { frames: given } = idle;
  idle.ws.send(JSON.stringify({ ack: given[0]!.seq, token: given[0]!.token }));
  await until(() => given.length === 2);
  await admin.keys.revoke(gone.id, { tenant: 'a' });
  await pause(REMEMBERED_MS);
  working.ws.send(JSON.stringify({ ack: seq, token }));
  assert.equal(await working.closed, 1008);
  await relay.publish('c', 'second');
  assert.deepEqual(await Promise.all([reader.closed, idle.closed]), [1008, 1008]);
  assert.deepEqual([reader.frames.length, given.length, working.frames.length], [1, 2, 1]);
  const { groups } = await relay.channels.inspect('c');
  const leases = groups.map(({ name, leases }) => [name, leases.map((lease) => lease.seq)]);
  assert.deepEqual(leases.sort(), [
    ['idle', []],
    ['working', [seq]],
  ]);
});

test('a pointer with the visibility link is found without a key and by another tenant, also over MCP', async (t) => {
  const worker = await startWorker({ open: false, adminKey: ADMIN });
  t.after(() => worker.stop());
  const admin = httpRelay({ baseUrl: worker.url, apiKey: ADMIN });
  const { key } = await admin.keys.create({ name: 'alice', tenant: 'a' });
  const { key: other } = await admin.keys.create({ name: 'bob', tenant: 'b' });
  const url = await new ContextRelay({ baseUrl: worker.url, apiKey: key }).push('for all', {
    visibility: 'link',
  });
  assert.match(url, /\/pull\/[0-9a-f]{8}-[0-9a-f]{4}-8/, 'the id names the object of the tenant');
  assert.equal(await (await fetch(`${url}?raw=1`)).text(), 'for all');
  assert.equal(await new ContextRelay({ baseUrl: worker.url, apiKey: other }).pull(url), 'for all');
  const call = { name: 'pull_context', arguments: { url } };
  const answer = await fetch(`${worker.url}/mcp`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${other}`,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: call }),
  });
  assert.match(await answer.text(), /for all/);
  const madeUp = url.replace(/pull\/..../, url.includes('pull/0000') ? 'pull/1111' : 'pull/0000');
  assert.equal((await fetch(madeUp)).status, 404);
});

test('acknowledged writes, leases and reader positions survive an eviction of all objects', async (t) => {
  const home = mkdtempSync(join(tmpdir(), 'relay-worker-'));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  let worker = await startWorker({ home });
  t.after(() => worker.stop());
  const evict = async () => {
    await worker.stop();
    worker = await startWorker({ home, port: Number(new URL(worker.url).port) });
  };
  const relay = new ContextRelay({ baseUrl: worker.url });
  const url = await relay.push(new Uint8Array(3_000_000).fill(7), { channel: 'c' });
  const thread = await relay.threads.create({ name: 't' });
  await evict();
  const fact = { id: 'f', key: 'k', value: 'v' };
  await thread.patch([{ op: 'add', path: '/facts/-', value: fact }], { ifMatch: 'v1' });
  await relay.publish('c', 'second');
  await evict();
  assert.equal((await relay.pullBytes(url)).length, 3_000_000);
  assert.equal((await thread.state()).version, 2);
  const seen: unknown[] = [];
  const subscription = relay.subscribe('c', (message) => void seen.push(message.msg ?? message.url), {
    since: 'all',
  });
  await until(() => seen.length === 2);
  await evict();
  await relay.publish('c', 'third');
  await until(() => seen.length === 3);
  assert.deepEqual(seen, [url, 'second', 'third'], 'a client goes on by itself where it was');
  await subscription.close();
});
