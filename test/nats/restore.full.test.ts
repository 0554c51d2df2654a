import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pause } from '../../src/base/pause.ts';
import { relay, temporaryHome } from '../cli/program.ts';
import { startServers } from './chaos.ts';
import { findNatsServer, startCluster } from './cluster.ts';
import { Load } from './load.ts';

const natsServer = await findNatsServer();
const skip = 'missing' in natsServer ? natsServer.missing : false;

/** Number of restores, and time in ms for which load runs before the backup. */
const RESTORES = Number(process.env.RELAY_TEST_RESTORES ?? 20);
const USED_MS = 20_000;

test(`${RESTORES} of ${RESTORES} restores into a cluster in use succeed`, {
  skip,
  timeout: 1_800_000,
}, async (t) => {
  using place = temporaryHome();
  await using cluster = await startCluster();
  await using servers = await startServers(cluster.url);
  const load = new Load(servers.urls);
  await load.begin();
  await pause(USED_MS);
  const backup = `${place.home}/backup`;
  const result = await relay(['backup', backup, '--engine', cluster.url], { home: place.home });
  assert.equal(result.code, 0, result.stderr);
  const failed: string[] = [];
  for (let n = 1; n <= RESTORES; n++) {
    const began = performance.now();
    const target = `${cluster.url}/restored-${n}`;
    const restored = await relay(['restore', backup, '--engine', target], { home: place.home });
    if (restored.code !== 0) failed.push(`${n}: ${restored.stderr}`);
    t.diagnostic(`restore ${n}: exit code ${restored.code}, ${Math.round(performance.now() - began)} ms`);
  }
  await load.end();
  assert.deepEqual(failed, []);
  await load.check(servers.urls[0]!, 0);
});
