import assert from 'node:assert/strict';
import { once } from 'node:events';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fetchNode } from './fixtures.ts';
import { type Installation, install } from './installation.ts';
import { machineNode, outsideEnv, ROOT, run, serve } from './processes.ts';

/** The oldest that package.json allows. */
const oldest = await fetchNode('22.16.0');
const machine = await machineNode();

describe('on an older Node', () => {
  let installation: Installation;
  before(async () => {
    installation = await install();
  });
  after(() => installation[Symbol.dispose]());

  const env = () => outsideEnv({ RELAY_HOME: installation.home });

  test('the oldest Node we name runs the command line, the server and the SDK', {
    skip: 'reason' in oldest && oldest.reason,
  }, async () => {
    const node = 'node' in oldest ? oldest.node : '';
    const relay = (...args: string[]) => run(node, [installation.relay, ...args], { env: env() });
    const file = installation.write('brief.txt', 'to whom it may concern\n');
    const pushed = await relay('push', file);
    assert.equal(pushed.code, 0, pushed.stderr);
    assert.doesNotMatch(pushed.stderr, /Warning/);
    assert.equal((await relay('pull', pushed.stdout.trim())).stdout, 'to whom it may concern\n');

    await using server = await serve(node, [installation.relay, 'up', '--port', '0'], { env: env() });
    const script = installation.write(
      'use.js',
      `import { ContextRelay } from 'contextrelay';
       const relay = new ContextRelay({ baseUrl: '${server.url}' });
       const url = await relay.push('x'.repeat(200_000), { encrypted: true });
       console.log((await relay.pull(url)).length);`,
    );
    const used = await run(node, [script], { cwd: installation.folder, env: env() });
    assert.deepEqual(used, { code: 0, stdout: '200000\n', stderr: '' });
  });

  const tooNew = machine.major >= 24 || (machine.major === 22 && machine.minor >= 16);
  const skip = tooNew && `the Node of this machine (${machine.major}.${machine.minor}) is not too old`;

  test('a Node that is too old is told so in one line', { skip }, async () => {
    const { code, stdout, stderr } = await run(machine.path, [installation.relay, 'version'], { env: env() });
    assert.equal(code, 1);
    assert.equal(stdout, '');
    assert.match(
      stderr,
      /^relay: it needs Node 22\.16 or newer, and this is v[\d.]+\. Install Node 26 [^\n]+\n$/,
    );
  });

  test('with Node 26 installed beside it, an old Node hands over: arguments, streams, exit code, signals', {
    skip,
  }, async () => {
    const name = process.platform === 'darwin' && process.arch === 'arm64' ? 'bin-darwin-arm64' : platform();
    symlinkSync(
      join(ROOT, 'node_modules', `node-${name}`),
      join(installation.folder, 'node_modules', `node-${name}`),
    );
    const relay = (args: string[], input?: string) =>
      run(machine.path, [installation.relay, ...args], { env: env(), input });
    const pushed = await relay(['push', '-'], 'handed over\n');
    assert.equal(pushed.code, 0, pushed.stderr);
    assert.equal((await relay(['pull', pushed.stdout.trim()])).stdout, 'handed over\n');
    assert.equal(
      (await relay(['pull', 'http://127.0.0.1:7474/pull/00000000-0000-4000-8000-000000000000'])).code,
      3,
    );

    // The other name of `relay mcp`.
    const mcp = join(installation.folder, 'node_modules', '.bin', 'contextrelay-mcp');
    const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n';
    const answered = await run(machine.path, [mcp], { env: env(), input: ping });
    assert.deepEqual(
      [JSON.parse(answered.stdout), answered.code],
      [{ jsonrpc: '2.0', id: 1, result: {} }, 0],
      answered.stderr,
    );

    const server = await serve(machine.path, [installation.relay, 'up', '--port', '0'], { env: env() });
    assert.equal((await fetch(`${server.url}/health`)).status, 200);
    server.child.kill('SIGTERM');
    await once(server.child, 'exit');
    await assert.rejects(fetch(`${server.url}/health`));
  });
});

function platform(): string {
  return `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
}
