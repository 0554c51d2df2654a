import { globSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'node:test';
import { runMatrix } from '../engine-matrix.ts';
import { install } from './installation.ts';
import { oldestVersions, supportedNodes } from './supported-nodes.ts';

/** Test files that start the program, except those that read its sources or inspect the Node process. */
const files = globSync('test/**/*.test.ts')
  .filter((path) => !/\.(slow|full)\.test\.ts$|^test\/(pins|sqlite|soak|s3|sdk)\//.test(path))
  .filter((path) => !/(printed-commands|replaced|pipelines\/examples)\.test\.ts$/.test(path))
  .filter((path) => /\/program\.ts'/.test(readFileSync(path, 'utf8')))
  .sort();

for (const { version, store, fixture } of await supportedNodes(oldestVersions())) {
  // These tests need the local store. supported-nodes.slow.test.ts covers Node versions without it.
  if (!store || ('node' in fixture && fixture.node === process.execPath)) continue;
  describe(`the installed package on Node ${version}`, () => {
    void runMatrix(files, {
      on: `Node ${version}`,
      skip: 'reason' in fixture && fixture.reason,
      async start() {
        const installation = await install();
        // Use a path without spaces, because tests put it into shell commands.
        const entry = join(installation.folder, '..', 'relay');
        symlinkSync(installation.relay, entry);
        const variables = { RELAY_TEST_ENTRY: entry, RELAY_TEST_NODE: 'node' in fixture ? fixture.node : '' };
        return { variables, stop: async () => installation[Symbol.dispose]() };
      },
    });
  });
}
