import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { after, test } from 'node:test';
import { fillUp, smallDisk } from '../sqlite/small-disk.ts';
import { until } from '../until.ts';
import { cleanEnv, ENTRY, NODE, relay } from './program.ts';

const children: ChildProcess[] = [];
after(() => {
  for (const child of children) if (child.exitCode === null) child.kill('SIGKILL');
});

/** Starts `relay up`, and gives what it has said once it listens or has ended. */
async function up(home: string, port: number): Promise<{ child: ChildProcess; said: string }> {
  const child = spawn(NODE, [ENTRY, 'up', '--port', String(port)], {
    env: cleanEnv({ home }),
    cwd: home,
  });
  children.push(child);
  let said = '';
  const listens = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        said += chunk;
        if (said.includes('listening on')) resolve();
      });
    }
  });
  await Promise.race([listens, once(child, 'close')]);
  return { child, said };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

test('a server that cannot start on a full disk ends with a code and frees its port', async (t) => {
  const home = smallDisk(t);
  if (!home) return;
  const port = await freePort();
  const { child } = await up(home, port);
  await relay(['push', '--url', `http://127.0.0.1:${port}`], { home, stdin: 'kept' });
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
  fillUp(home);

  const again = await up(home, port);
  if (again.child.exitCode === null) await once(again.child, 'exit');
  assert.equal(again.child.exitCode, 1, again.said);
  assert.match(again.said, /no room left/);
  const next = createServer().listen(port, '127.0.0.1');
  await once(next, 'listening');
  next.close();
});

test('on a full disk keys are revoked, pointers, files and artifacts removed and the store pruned', async (t) => {
  const home = smallDisk(t);
  if (!home) return;
  const made = JSON.parse((await relay(['keys', 'create', 'laptop', '--json'], { home })).stdout);
  const kept = (await relay(['push', '--ttl', '1s'], { home, stdin: 'x'.repeat(100_000) })).stdout.trim();
  const gone = (await relay(['push'], { home, stdin: 'y'.repeat(100_000) })).stdout.trim();
  await relay(['file', 'put', '-', 'space/a.txt'], { home, stdin: 'f'.repeat(100_000) });
  const thread = (await relay(['thread', 'new', 'work'], { home })).stdout.trim();
  const put = ['artifact', 'put', '-', '--thread', thread, '--name', 'a.txt'];
  const ref = (await relay(put, { home, stdin: 'a'.repeat(100_000) })).stdout.trim();
  fillUp(home);

  const refused = await relay(['push'], { home, stdin: 'z'.repeat(100_000) });
  assert.match(refused.stderr, /no room left/);
  const revoked = await relay(['keys', 'revoke', made.id], { home });
  assert.equal(revoked.code, 0, revoked.stderr);
  const removed = await relay(['rm', gone], { home });
  assert.equal(removed.code, 0, removed.stderr);
  const file = await relay(['file', 'rm', 'space/a.txt'], { home });
  assert.equal(file.code, 0, file.stderr);
  const artifact = await relay(['artifact', 'rm', ref, '--thread', thread], { home });
  assert.equal(artifact.code, 0, artifact.stderr);
  await until(async () => (await relay(['peek', kept], { home })).code !== 0);
  const pruned = await relay(['prune', '--json'], { home });
  assert.equal(pruned.code, 0, pruned.stderr);
  assert.equal(JSON.parse(pruned.stdout).blobs, 1, pruned.stdout);
  assert.equal((await relay(['peek', gone], { home })).code, 3);
});
