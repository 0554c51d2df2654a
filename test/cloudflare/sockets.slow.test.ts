import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { WebSocket } from 'ws';
import { startWorker } from '../../scripts/cloudflare/local-worker.ts';

/** Sockets of a Worker, in a real workerd. */

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

test('a close is answered with its own code, of a reader and of a member', async () => {
  const closed = async (path: string, code?: number) => {
    const socket = await open(path);
    const end = new Promise<number>((resolve) => socket.once('close', resolve));
    socket.close(code);
    return end;
  };
  const codes = [closed('c', 1000), closed('c', 4001), closed('c?group=g', 1000), closed('c')];
  assert.deepEqual(await Promise.all(codes), [1000, 4001, 1000, 1000]);
});
