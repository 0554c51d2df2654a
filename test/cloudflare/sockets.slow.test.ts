import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { WebSocket } from 'ws';
import { startWorker } from '../../scripts/cloudflare/local-worker.ts';
import { systemEnv } from '../../src/base/env.ts';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import { until } from '../until.ts';
import { hostWorker } from './worker-relay.ts';

/** WebSockets of a Worker in a real workerd. */

let worker: Awaited<ReturnType<typeof startWorker>>;
before(async () => {
  worker = await startWorker();
});
after(() => worker.stop());

async function open(path: string): Promise<WebSocket> {
  const socket = new WebSocket(`${worker.url.replace('http', 'ws')}/ws/${path}`);
  await new Promise((opened) => socket.once('open', opened));
  return socket;
}

test('a close frame is answered with its own code, for a reader and for a group member', async () => {
  const closed = async (path: string, code?: number) => {
    const socket = await open(path);
    const end = new Promise<number>((resolve) => socket.once('close', resolve));
    socket.close(code);
    return end;
  };
  const codes = [closed('c', 1000), closed('c', 4001), closed('c?group=g', 1000), closed('c')];
  assert.deepEqual(await Promise.all(codes), [1000, 4001, 1000, 1000]);
});

test('a long replay arrives complete, in order and once, although it is interrupted and its object evicted', async (t) => {
  let shift = 0;
  const env = { ...systemEnv, now: () => Date.now() + shift };
  const host = await hostWorker({ vars: { RELAY_OPEN: 'true' }, env, step: () => ({ shift }), evicts: true });
  t.after(() => host.dispose());
  const { platform, engine } = host;
  const texts = Array.from({ length: 600 }, (_, i) => `${i} `.padEnd(15_000, 'x'));
  for (const msg of texts) await engine.logs.append('chn.local.long', { msg, from: 'x' });
  const heard: string[] = [];
  const socket = new WebSocket(`${platform.url.replace('http', 'ws')}/ws/long?since=all`);
  t.after(() => socket.terminate());
  socket.on('message', (data) => void heard.push(JSON.parse(String(data)).msg));
  await platform.control('stall');
  await new Promise((opened) => socket.once('open', opened));
  await until(() => heard.length > 0);
  await platform.control('evict');
  await platform.control('goOn');
  assert.ok(heard.length < texts.length / 2, `${heard.length} came in one turn`);
  shift += 31_000;
  await platform.control('ring');
  await until(() => heard.length >= texts.length);
  await new ContextRelay({ baseUrl: platform.url }).publish('long', 'the end');
  await until(() => heard.at(-1) === 'the end');
  assert.deepEqual(heard, [...texts, 'the end']);
});
