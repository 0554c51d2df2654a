/**
 * `npm run test:executable`: runs tests against the executable that Bun compiles, and the SQLite engine's
 * tests on Bun. The last line is `N passed, M failed`. --smoke runs the part that CI has time for.
 */
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { compileExecutable, findBun } from './build/executable.ts';

/** Tests that start the program as a child process. Here they start the executable. */
const PROGRAM = [
  'test/cli',
  'test/mcp',
  'test/install/hooks.test.ts',
  'test/install/doctor.test.ts',
  'test/pipelines/killed-runner.test.ts',
  'test/pipelines/holding.test.ts',
  'test/pipelines/command-line.test.ts',
  'test/bridge/cli.test.ts',
  'test/security/canary.test.ts',
  'test/channels/workers.slow.test.ts',
];
const SMOKE = [
  'test/cli/hand-over.test.ts',
  'test/cli/server.test.ts',
  'test/mcp/lifetime.test.ts',
  'test/install/hooks.test.ts',
];

/**
 * Tests that kill child processes while they write to the engine. The child processes run on Bun.
 */
const ENGINE = ['test/sqlite/killing.test.ts', 'test/sqlite/many-processes.test.ts'];
/** Tests that Bun itself runs: the conformance tests of the SQLite engine, and tests of a server. */
const IN_BUN = [
  './src/engines/sqlite/conformance.test.ts',
  './test/http',
  './test/keys',
  './test/channels/socket.test.ts',
  './test/channels/events.test.ts',
];

const { values } = parseArgs({ options: { smoke: { type: 'boolean' } } });
const bun = findBun();
if (!bun) {
  console.log('Skipped: npm has no Bun for this platform.\n0 passed, 0 failed');
  process.exit();
}
const executable = resolve('node_modules/.cache/executable/relay-under-test');
compileExecutable(executable);

const tests = ['scripts/test.ts', ...(values.smoke ? ['--again'] : [])];
const onExecutable = { RELAY_TEST_NODE: 'env', RELAY_TEST_ENTRY: executable };
const totals = [
  await run(process.execPath, [...tests, ...(values.smoke ? SMOKE : PROGRAM)], onExecutable),
  await run(process.execPath, [...tests, ...(values.smoke ? ENGINE.slice(0, 1) : ENGINE)], {
    RELAY_TEST_RUNTIME: bun,
  }),
  ...(values.smoke ? [] : [await run(bun, ['test', '--timeout', '100000', ...IN_BUN], {})]),
];
const [passed, failed] = [0, 1].map((at) => totals.reduce((sum, total) => sum + total[at]!, 0));
console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

/** Runs a test runner and returns its totals of passed and failed tests. */
async function run(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<[number, number]> {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const [from, to] of [
    [child.stdout, process.stdout],
    [child.stderr, process.stderr],
  ] as const) {
    from.on('data', (chunk) => {
      output += chunk;
      to.write(chunk);
    });
  }
  const code = await new Promise((done) => child.once('close', done));
  const last = (pattern: RegExp) => Number([...output.matchAll(pattern)].at(-1)?.[1] ?? 0);
  const [passed, failed] = [last(/(\d+) pass(?:ed)?\b/g), last(/(\d+) fail(?:ed)?\b/g)];
  return [passed, code === 0 ? failed : Math.max(failed, 1)];
}
