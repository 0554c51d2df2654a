import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type RelayUnderTest, startRelay } from '../http/relay-under-test.ts';
import { conformanceFixtures } from './conformance/fixtures.ts';

const VERSION = '0.2.0-alpha.12';
const FOLDER = join(import.meta.dirname, '../../node_modules/.cache/mcp-conformance');
const SUITE = join(FOLDER, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');

/**
 * Scenarios that need a session: in the 2025 revisions a server asks its client on one stream and gets the answer in
 * another request. Our server has no sessions, because they would end with the server.
 */
const NEED_A_SESSION = [
  'elicitation-sep1034-defaults',
  'elicitation-sep1330-enums',
  'tools-call-elicitation',
  'tools-call-sampling',
];

describe('the official conformance suite', async () => {
  const missing = await installSuite();
  let relay: RelayUnderTest;
  before(async () => {
    relay = await startRelay({ server: { extendMcp: conformanceFixtures() } });
  });
  after(() => relay[Symbol.asyncDispose]());

  test('passes for 2026-07-28', { skip: missing }, async () => {
    const { code, output, failed } = await runSuite(relay.url, '2026-07-28');
    assert.deepEqual(failed, [], output);
    assert.equal(code, 0, output);
  });

  test('fails for 2025-11-25 only where a session is needed', { skip: missing }, async () => {
    const { output, failed } = await runSuite(relay.url, '2025-11-25');
    assert.deepEqual(failed, NEED_A_SESSION, output);
  });
});

/** Reason why the suite cannot run, or false. */
async function installSuite(): Promise<string | false> {
  if (existsSync(SUITE)) return false;
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(join(FOLDER, 'package.json'), '{"private":true}');
  const wanted = `@modelcontextprotocol/conformance@${VERSION}`;
  const { code, output } = await run(
    'npm',
    ['install', '--no-audit', '--no-fund', '--no-save', wanted],
    FOLDER,
  );
  return code === 0 && existsSync(SUITE) ? false : `the suite cannot be installed: ${output.slice(-300)}`;
}

async function runSuite(url: string, revision: string) {
  const args = [SUITE, 'server', '--url', `${url}/mcp`, '--requirements', revision];
  const { code, output } = await run(process.execPath, args, FOLDER);
  const names = (pattern: RegExp) => [...output.matchAll(pattern)].map(([, name]) => name!);
  // The suite also runs extensions and later drafts, which are not part of the revision.
  const unscored = names(/^ +✗ ([\w-]+) \(\w[^)]*\)$/gm);
  const failed = names(/^✗ ([\w-]+):/gm).filter((name) => !unscored.includes(name));
  return { code, output, failed: [...new Set(failed)].sort() };
}

function run(
  command: string,
  args: readonly string[],
  cwd: string,
): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output += text;
      });
    }
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output }));
  });
}
