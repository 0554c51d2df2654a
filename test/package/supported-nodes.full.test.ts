import { globSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'node:test';
import { runMatrix } from '../engine-matrix.ts';
import { install } from './installation.ts';
import { oldestVersions, supportedNodes } from './supported-nodes.ts';

/** All that runs the program; without what is about its sources, or looks into the process of this very Node. */
const files = globSync('test/**/*.test.ts')
  .filter((path) => !/\.(slow|full)\.test\.ts$|^test\/(pins|sqlite|soak|s3|sdk)\//.test(path))
  .filter((path) => !/(printed-commands|replaced|pipelines\/examples)\.test\.ts$/.test(path))
  .filter((path) => /\/program\.ts'/.test(readFileSync(path, 'utf8')))
  .sort();

for (const { version, store, got } of await supportedNodes(oldestVersions())) {
  // Without the store there is nothing that they could run on; supported-nodes.slow.test.ts does all that is promised there.
  if (!store || ('node' in got && got.node === process.execPath)) continue;
  describe(`the installed package on Node ${version}`, () => {
    void runMatrix(files, {
      on: `Node ${version}`,
      skip: 'reason' in got && got.reason,
      async start() {
        const installation = await install();
        // By a path without a blank, for the lines of a shell.
        const entry = join(installation.folder, '..', 'relay');
        symlinkSync(installation.relay, entry);
        const variables = { RELAY_TEST_ENTRY: entry, RELAY_TEST_NODE: 'node' in got ? got.node : '' };
        return { variables, stop: async () => installation[Symbol.dispose]() };
      },
    });
  });
}
