import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fillUp, smallDisk } from '../sqlite/small-disk.ts';
import { until } from '../until.ts';
import { cleanEnv, ENTRY, NODE, relay } from './program.ts';

const children: ChildProcess[] = [];
after(() => {
  for (const child of children) if (child.exitCode === null) child.kill('SIGKILL');
});

/** Starts `relay up` and returns its output once the server listens or has ended. */
async function up(home: string, port: number): Promise<{ child: ChildProcess; output: string }> {
  const child = spawn(NODE, [ENTRY, 'up', '--port', String(port)], {
    env: cleanEnv({ home }),
    cwd: home,
  });
  children.push(child);
  let output = '';
  const listens = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        output += chunk;
        if (output.includes('listening on')) resolve();
      });
    }
  });
  await Promise.race([listens, once(child, 'close')]);
  return { child, output };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

test('a server that has no space to create a store exits with an error and frees its port', async (t) => {
  const home = smallDisk(t, '64k');
  if (!home) return;
  const port = await freePort();
  const { child, output } = await up(home, port);
  if (child.exitCode === null) await once(child, 'exit');
  assert.equal(child.exitCode, 1, output);
  assert.match(output, /no (room|space) left/);
  const next = createServer().listen(port, '127.0.0.1');
  await once(next, 'listening');
  next.close();
});

for (const end of ['SIGKILL', 'SIGTERM'] as const) {
  test(`after ${end} a server starts on a full disk, serves reads and rejects writes`, async (t) => {
    const home = smallDisk(t);
    if (!home) return;
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const { child } = await up(home, port);
    const keptUrl = (await relay(['push', '--url', url], { home, stdin: 'kept' })).stdout.trim();
    const post = async (path: string, body: object) => {
      const headers = { 'Content-Type': 'application/json' };
      return (await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })).json();
    };
    const { thread_id } = (await post('/threads', {})) as { thread_id: string };
    await post(`/threads/${thread_id}/artifacts`, { name: 'notes', content: 'a needle' });
    const ended = once(child, 'exit');
    child.kill(end);
    await ended;
    // Delete the file that reserves space for deletions, so that `fillUp` fills that space too.
    if (end === 'SIGTERM') rmSync(join(home, 'relay.db-reserve'));
    fillUp(home);

    const again = await up(home, port);
    assert.match(again.output, /listening on/);
    assert.match(again.output, /no space/);
    assert.equal(await (await fetch(`${keptUrl}?raw=1`)).text(), 'kept');
    // The store still has free pages for a few small writes. Use them up.
    const push = () => fetch(`${url}/push`, { method: 'POST', body: 'n'.repeat(3_000) });
    let refused = await push();
    let ready = await fetch(`${url}/ready`);
    await until(async () => {
      refused = await push();
      ready = await fetch(`${url}/ready`);
      return refused.status !== 200 && 'writable' in ((await ready.clone().json()) as object);
    });
    assert.equal(refused.status, 507);
    const response = await fetch(`${url}/threads/${thread_id}/search?q=needle`);
    assert.equal(
      ((await response.json()) as { hits?: unknown[] }).hits?.length,
      1,
      'searching needs no room',
    );
    assert.equal(((await refused.json()) as { code: string }).code, 'store_full');
    const { writable, warnings } = (await ready.json()) as { writable: boolean; warnings: string[] };
    assert.deepEqual([ready.status, writable], [200, false]);
    assert.match(warnings.join(), /no room left.*relay prune/);
    if (end === 'SIGKILL') assert.equal((await fetch(keptUrl, { method: 'DELETE' })).status, 204);
    rmSync(join(home, 'filler'));
    await until(async () => (await push()).status === 200);
    assert.equal((await fetch(keptUrl, { method: 'DELETE' })).status, end === 'SIGKILL' ? 404 : 204);
    assert.equal('writable' in ((await (await fetch(`${url}/ready`)).json()) as object), false);
  });
}

test('on a full disk keys can be revoked, data can be deleted and the store can be pruned', async (t) => {
  const home = smallDisk(t);
  if (!home) return;
  const key = JSON.parse((await relay(['keys', 'create', 'laptop', '--json'], { home })).stdout);
  const expiringUrl = (
    await relay(['push', '--ttl', '1s'], { home, stdin: 'x'.repeat(100_000) })
  ).stdout.trim();
  const deletedUrl = (await relay(['push'], { home, stdin: 'y'.repeat(100_000) })).stdout.trim();
  await relay(['file', 'put', '-', 'space/a.txt'], { home, stdin: 'f'.repeat(100_000) });
  const thread = (await relay(['thread', 'new', 'work'], { home })).stdout.trim();
  const args = ['artifact', 'put', '-', '--thread', thread, '--name', 'a.txt'];
  const ref = (await relay(args, { home, stdin: 'a'.repeat(100_000) })).stdout.trim();
  fillUp(home);

  const refused = await relay(['push'], { home, stdin: 'z'.repeat(100_000) });
  assert.match(refused.stderr, /no room left/);
  const revoked = await relay(['keys', 'revoke', key.id], { home });
  assert.equal(revoked.code, 0, revoked.stderr);
  const removed = await relay(['rm', deletedUrl], { home });
  assert.equal(removed.code, 0, removed.stderr);
  const file = await relay(['file', 'rm', 'space/a.txt'], { home });
  assert.equal(file.code, 0, file.stderr);
  const artifact = await relay(['artifact', 'rm', ref, '--thread', thread], { home });
  assert.equal(artifact.code, 0, artifact.stderr);
  await until(async () => (await relay(['peek', expiringUrl], { home })).code !== 0);
  const pruned = await relay(['prune', '--json'], { home });
  assert.equal(pruned.code, 0, pruned.stderr);
  assert.equal(JSON.parse(pruned.stdout).blobs, 1, pruned.stdout);
  assert.equal((await relay(['peek', deletedUrl], { home })).code, 3);
});
