import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { pause } from '../../src/base/pause.ts';
import { startServers } from './chaos.ts';
import { findNatsServer, startCluster } from './cluster.ts';
import { Load } from './load.ts';

const run = promisify(execFile);

/** An old commit. It lacks cluster metrics, notes about chunks to delete, and reads that avoid a frozen replica. */
const OLD = '2c9b38c6';
/** Duration in ms of each of the three phases: two old servers, one old and one new server, two new servers. */
const PHASE_MS = 10_000;

const natsServer = await findNatsServer();
const isThere = await run('git', ['cat-file', '-e', `${OLD}^{commit}`]).then(
  () => true,
  () => false,
);
const skip =
  'missing' in natsServer ? natsServer.missing : !isThere && `the commit ${OLD} is not in this clone`;

test(`two relays are upgraded from ${OLD} one after the other, and every acknowledged write exists once`, {
  skip,
  timeout: 600_000,
}, async (t) => {
  const old = mkdtempSync(join(tmpdir(), 'relay-old-'));
  try {
    await run('sh', ['-c', `git archive ${OLD} | tar -x -C ${old}`]);
    symlinkSync(resolve('node_modules'), join(old, 'node_modules'));
    mkdirSync(join(old, 'dist'), { recursive: true });
    await using cluster = await startCluster();
    await using servers = await startServers(cluster.url, old);
    const load = new Load(servers.urls);
    await load.begin();
    await pause(PHASE_MS);
    const before = load.pushed.size;
    await servers.restart(0, '.');
    await pause(PHASE_MS);
    const mixed = load.pushed.size - before;
    await servers.restart(1, '.');
    await pause(PHASE_MS);
    await load.end();
    t.diagnostic(
      `${before} pushes before, ${mixed} with one old and one new relay, ${load.pushed.size} in all`,
    );
    t.diagnostic(`${load.patched.size} patches, ${load.done.size} jobs`);
    t.diagnostic(`the longest time without an acknowledged push: ${Math.round(load.longestGapMs)} ms`);
    await load.check(servers.urls[0]!, 0);
    await load.check(servers.urls[1]!, 0);
  } finally {
    rmSync(old, { recursive: true, force: true });
  }
});
