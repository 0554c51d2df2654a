import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { WebSocket } from 'ws';
import { makeKeys, runLoad } from '../../bench/load.ts';
import { cleanEnv, ENTRY, temporaryHome } from '../cli/program.ts';

const CLIENTS = 200;
const LOAD_MS = 60_000;
const HEAP_BYTES = 20 * 1024 * 1024;

const place = temporaryHome();
let server: ChildProcess | null = null;
after(() => {
  server?.kill('SIGKILL');
  place[Symbol.dispose]();
});

/** A real server with an inspector, to measure its heap. */
async function start(): Promise<{ url: string; inspector: string }> {
  const args = ['--inspect=127.0.0.1:0', ENTRY, 'up', '--port', '0', '--auth'];
  const child = spawn(process.execPath, args, { env: cleanEnv({ home: place.home }), cwd: place.home });
  server = child;
  let output = '';
  return new Promise((resolve, reject) => {
    const hear = (chunk: Buffer) => {
      output = (output + String(chunk)).slice(-100_000);
      const url = /listening on (http:\S+)/.exec(output)?.[1];
      const inspector = /Debugger listening on (ws:\S+)/.exec(output)?.[1];
      if (url && inspector) resolve({ url, inspector });
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    child.once('exit', () => reject(new Error(output)));
  });
}

/** Returns the heap size in bytes after garbage collection. */
async function heapAfterCollection(inspector: string): Promise<number> {
  const ws = new WebSocket(inspector);
  await once(ws, 'open');
  const call = async (id: number, method: string) => {
    ws.send(JSON.stringify({ id, method }));
    for (;;) {
      const message = JSON.parse(String((await once(ws, 'message'))[0]));
      if (message.id === id) return message.result;
    }
  };
  await call(1, 'HeapProfiler.collectGarbage');
  await call(2, 'HeapProfiler.collectGarbage');
  const { usedSize } = await call(3, 'Runtime.getHeapUsage');
  ws.terminate();
  return usedSize;
}

test('200 clients at full speed for a minute get only answers and 429, and leak no memory', async () => {
  const { url, inspector } = await start();
  // All clients share one key, so that they reach its rate limit even on a slow machine.
  const keys = await makeKeys([process.execPath, ENTRY], place.home, ['clients']);
  const job = { url, keys, clients: CLIENTS, pauseMs: 0, bodyBytes: 2_000 };
  // Warm up the compiler and the caches first.
  await runLoad({ ...job, ms: 5_000 });
  const before = await heapAfterCollection(inspector);
  const { statuses } = await runLoad({ ...job, ms: LOAD_MS });
  const after = await heapAfterCollection(inspector);
  const statusCounts = JSON.stringify(statuses);
  assert.deepEqual(
    Object.keys(statuses).filter((status) => status !== '200' && status !== '429'),
    [],
    statusCounts,
  );
  assert.ok(statuses['200']! > 1000, statusCounts);
  assert.ok(statuses['429']! > 0, statusCounts);
  assert.ok(after - before < HEAP_BYTES, `the heap grew from ${before} to ${after} bytes`);
  assert.equal((await fetch(`${url}/health`)).status, 200);
});
