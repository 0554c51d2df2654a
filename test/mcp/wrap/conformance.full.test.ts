import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { cleanEnv, ENTRY, NODE } from '../../cli/program.ts';
import { startRelay } from '../../http/relay-under-test.ts';
import { ERAS } from '../clients.ts';
import { conformanceFixtures } from '../conformance/fixtures.ts';
import { installSuite, runSuite } from '../conformance/suite.ts';
import { HttpBridge } from './http-bridge.ts';

const home = mkdtempSync(join(tmpdir(), 'relay-wrap-'));
after(() => rmSync(home, { recursive: true, force: true }));
const env = cleanEnv({ home });
const SERVER = [process.execPath, join(import.meta.dirname, 'conformance-server.ts')];
const WRAP = [NODE, ENTRY, 'mcp', 'wrap'];

/** Runs the suite against a stdio server and returns the names of the scenarios that fail. */
async function failures(command: readonly string[], era: string): Promise<string[]> {
  await using bridge = new HttpBridge(command, env);
  const { failed, output } = await runSuite(await bridge.start(), era);
  assert.match(output, /✓/);
  return failed;
}

describe('the official conformance suite scores a server behind relay mcp wrap as it scores it alone', async () => {
  const skip = await installSuite();
  for (const era of ERAS) {
    test(`over stdio, ${era}`, { skip }, async () => {
      const alone = await failures(SERVER, era);
      assert.deepEqual(await failures([...WRAP, '--', ...SERVER], era), alone);
    });

    test(`over HTTP, ${era}`, { skip }, async () => {
      await using relay = await startRelay({ server: { extendMcp: conformanceFixtures() } });
      const url = `${relay.url}/mcp`;
      const { failed } = await runSuite(url, era);
      const transport = await failures(SERVER, era);
      const behind = await failures([...WRAP, '--url', url], era);
      // Ignore scenarios that fail because of the HTTP bridge between the suite and the stdio server.
      assert.deepEqual(
        behind.filter((name) => !transport.includes(name)),
        failed.filter((name) => !transport.includes(name)),
      );
    });
  }
});
