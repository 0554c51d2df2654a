import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { openSqlite } from '../../src/engines/sqlite/engine.ts';
import { startChild } from './child.ts';
import { temporaryHome } from './home.ts';

const MiB = 1024 * 1024;

test('a body of 50 MiB is written and read without holding all of it in memory', async (t) => {
  const home = temporaryHome(t);
  const child = startChild('stream-blob', { home, bytes: 50 * MiB }, [
    '--expose-gc',
    '--max-old-space-size=64',
  ]);
  const [result] = await child.rest<{ size: number; stored: string; read: string; grown: number }>();
  const hash = createHash('sha256');
  for (let i = 0; i < (50 * MiB) / 65536; i++) hash.update(new Uint8Array(65536).fill(i % 251));
  const expected = hash.digest('hex');
  assert.equal(result!.size, 50 * MiB);
  assert.equal(result!.stored, expected);
  assert.equal(result!.read, expected);
  assert.ok(result!.grown < 20 * MiB, `memory grew by ${result!.grown} bytes`);
});

test('a stream that is not read to its end keeps no file open', async (t) => {
  if (process.platform !== 'linux') return t.skip('open files are counted in /proc');
  const home = temporaryHome(t);
  const engine = await openSqlite({ home });
  await engine.blobs.put('big/1', new Uint8Array(MiB));
  for (let i = 0; i < 20; i++) {
    const reader = ((await engine.blobs.get('big/1'))!.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    await reader.cancel();
    await assert.rejects(engine.blobs.get('big/1', { start: 0, end: 2 * MiB }));
  }
  assert.equal(openBodies(home), 0, 'cancelled');
  for (let i = 0; i < 20; i++) await engine.blobs.get('big/1');
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  for (let i = 0; i < 50 && openBodies(home) > 0; i++) {
    gc();
    await pause(10);
  }
  assert.equal(openBodies(home), 0, 'forgotten');
  await engine[Symbol.asyncDispose]();
});

function openBodies(home: string): number {
  const paths = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return '';
    }
  });
  return paths.filter((path) => path.startsWith(join(home, 'blobs'))).length;
}
