import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Matrix } from '../engine-matrix.ts';
import { bundleUnderTest } from './worker-relay.ts';

/** Runs tests on the Worker in workerd. All objects are evicted before each request. */
export const workerMatrix: Matrix = {
  on: 'a Worker',
  // Some tests make thousands of storage calls, and each call goes over HTTP.
  fileMs: 900_000,
  atOnce: availableParallelism(),
  async start() {
    const { script, table } = await bundleUnderTest();
    const folder = mkdtempSync(join(tmpdir(), 'relay-worker-'));
    writeFileSync(join(folder, 'worker.js'), script);
    writeFileSync(join(folder, 'o200k.bin'), table);
    return {
      variables: { RELAY_TEST_ENGINE: 'cloudflare', RELAY_TEST_EVICTS: '1', RELAY_TEST_WORKER: folder },
      stop: async () => rmSync(folder, { recursive: true, force: true }),
    };
  },
};
