import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { runTestFile } from '../../scripts/test-file.ts';
import { type Cluster, findNatsServer, startCluster } from './cluster.ts';

/** Far beyond what a file takes: each test has streams of its own made first. */
const FILE_MS = 300_000;

/** Runs test files as they are on stores in a real cluster; one test each. */
export async function runMatrix(files: readonly string[]): Promise<void> {
  const found = await findNatsServer();
  const skip = 'missing' in found ? found.missing : false;
  let cluster: Cluster;
  const running = new Set<number>();
  before(async () => {
    if (skip) return;
    cluster = await startCluster({ fsync: false });
    process.env.RELAY_TEST_ENGINE = cluster.url;
  });
  after(async () => {
    for (const group of running) process.kill(-group, 'SIGKILL');
    if (!skip) await cluster[Symbol.asyncDispose]();
  });
  for (const file of files) {
    test(`${file} passes on a cluster`, { skip }, async () => {
      const { passed, failures } = await runTestFile(file, FILE_MS, running);
      assert.deepEqual(
        failures.map(({ name, error }) => `${name}: ${error}`),
        [],
      );
      assert.ok(passed > 0, 'it has tests');
    });
  }
}
