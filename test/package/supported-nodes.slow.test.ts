import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Installation, install } from './installation.ts';
import { machineNode, outsideEnv, ROOT, run, serve } from './processes.ts';
import { oldestVersions, supportedNodes } from './supported-nodes.ts';

const nodes = await supportedNodes(oldestVersions());
const machine = await machineNode();

test('the README and the launcher name the same versions of Node as package.json', () => {
  const [oldest = '', store = ''] = oldestVersions().map((version) =>
    version.split('.').slice(0, 2).join('.'),
  );
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8').replaceAll(/\s+/g, ' ');
  assert.ok(readme.includes(`Node ${store} or newer`), store);
  assert.ok(readme.includes(`Node ${oldest}`), oldest);
  const command = readFileSync(join(ROOT, 'scripts', 'build', 'relay.js'), 'utf8');
  assert.ok(command.includes(`// Node ${store} is the first`), store);
  const older = readFileSync(join(ROOT, 'scripts', 'build', 'older-node.js'), 'utf8');
  assert.ok(older.includes(`it needs Node ${oldest} or newer`), oldest);
});

describe('the package on each supported Node', () => {
  let installation: Installation;
  before(async () => {
    installation = await install();
  });
  after(() => installation[Symbol.dispose]());

  const env = (name: string, more: Record<string, string> = {}) =>
    outsideEnv({ RELAY_HOME: `${installation.home}-${name}`, ...more });

  for (const { version, store, fixture } of nodes) {
    const skip = 'reason' in fixture && fixture.reason;
    const node = 'node' in fixture ? fixture.node : '';
    const relay = (args: string[], more: Record<string, string> = {}, input?: string) =>
      run(node, [installation.relay, ...args], { env: env(version, more), input });

    if (store) {
      test(`Node ${version} runs the local store and the server`, { skip }, async () => {
        const pushed = await relay(['push', installation.write('brief.txt', 'to whom it may concern\n')]);
        assert.equal(pushed.code, 0, pushed.stderr);
        assert.doesNotMatch(pushed.stderr, /Warning/);
        assert.equal((await relay(['pull', pushed.stdout.trim()])).stdout, 'to whom it may concern\n');
        await using server = await serve(node, [installation.relay, 'up', '--port', '0'], {
          env: env(version),
        });
        assert.equal((await fetch(`${server.url}/ready`)).status, 200);
        assert.match(await (await fetch(`${server.url}/ui`)).text(), /<script type="module"/);
        assert.match(await (await fetch(`${server.url}/metrics`)).text(), /^relay_/m);
        for (const line of ['status', 'du', 'prune', 'doctor --deep']) {
          const { code, stdout, stderr } = await relay(line.split(' '));
          assert.equal(code, 0, `relay ${line}: ${stdout}${stderr}`);
        }
      });
    } else {
      test(`Node ${version} exits with 1 if the local store is needed, and says what to install`, {
        skip,
      }, async () => {
        for (const line of ['push -', 'up --port 0', 'thread new', 'status']) {
          const { code, stdout, stderr } = await relay(line.split(' '), {}, 'x');
          assert.deepEqual([code, stdout], [1, ''], `relay ${line}: ${stderr}`);
          assert.match(stderr, /needs Node 22\.16 or newer; this is Node v20\./, line);
          assert.match(stderr, /Install Node 26 with contextrelay-runtime/);
        }
      });
    }

    test(`Node ${version} runs the SDK, subscriptions, MCP and commands against a server`, {
      skip,
    }, async () => {
      await using server = await serve(process.execPath, [installation.relay, 'up', '--port', '0'], {
        env: env('server'),
      });
      const serverEnv = { CONTEXTRELAY_URL: server.url };
      const script = installation.write(
        'use.js',
        `import { ContextRelay } from 'contextrelay';
         const relay = new ContextRelay();
         const heard = new Promise((done) => relay.subscribe('news-${version}', ({ msg }) => done(msg), { since: 'all' }));
         const url = await relay.push('x'.repeat(200_000), { encrypted: true });
         await relay.publish('news-${version}', 'heard');
         console.log((await relay.pull(url)).length, await heard);
         process.exit(0);`,
      );
      const used = await run(node, [script], { cwd: installation.folder, env: env(version, serverEnv) });
      assert.deepEqual(used, { code: 0, stdout: '200000 heard\n', stderr: '' });

      const ok = async (args: string[], input?: string) => {
        const ran = await relay(args, serverEnv, input);
        assert.equal(ran.code, 0, `relay ${args.join(' ')}: ${ran.stderr}`);
        return ran.stdout;
      };
      const url = (await ok(['push', '-', '--channel', 'c', '--encrypt'], 'a\nb\n')).trim();
      assert.equal(await ok(['pull', url, '--lines', '2-2']), 'b\n');
      await ok(['thread', 'new', '--name', version]);
      await ok(['artifact', 'put', installation.write('plan.md', '# Plan\n')]);
      assert.match(await ok(['state', 'header']), /plan\.md/);
      await ok(['file', 'put', join(installation.folder, 'plan.md'), `notes-${version}/`]);
      assert.match(await ok(['file', 'ls', `notes-${version}`]), /plan\.md/);
      await ok(['doctor']);
      const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n';
      assert.deepEqual(JSON.parse(await ok(['mcp'], ping)), { jsonrpc: '2.0', id: 1, result: {} });

      assert.match(await ok(['watch', 'c', '--since', 'all', '-n', '1']), /\/pull\//);
    });
  }

  const whole = machine.major >= 24 || (machine.major === 22 && machine.minor >= 16);
  const skip = whole && `the Node of this machine (${machine.major}.${machine.minor}) needs no other`;

  test('with contextrelay-runtime installed, an old Node starts Node 26 and passes on arguments, streams, exit code and signals', {
    skip,
  }, async () => {
    mkdirSync(join(installation.folder, 'node_modules'), { recursive: true });
    symlinkSync(join(ROOT, 'runtime'), join(installation.folder, 'node_modules', 'contextrelay-runtime'));
    const relay = (args: string[], input?: string) =>
      run(machine.path, [installation.relay, ...args], { env: env('old'), input });
    const pushed = await relay(['push', '-'], 'handed over\n');
    assert.equal(pushed.code, 0, pushed.stderr);
    assert.equal((await relay(['pull', pushed.stdout.trim()])).stdout, 'handed over\n');
    assert.equal(
      (await relay(['pull', 'http://127.0.0.1:7474/pull/00000000-0000-4000-8000-000000000000'])).code,
      3,
    );

    // `contextrelay-mcp` is another name of `relay mcp`.
    const mcp = join(installation.folder, 'node_modules', '.bin', 'contextrelay-mcp');
    const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n';
    const answered = await run(machine.path, [mcp], { env: env('old'), input: ping });
    assert.deepEqual(
      [JSON.parse(answered.stdout), answered.code],
      [{ jsonrpc: '2.0', id: 1, result: {} }, 0],
      answered.stderr,
    );

    const server = await serve(machine.path, [installation.relay, 'up', '--port', '0'], { env: env('old') });
    assert.equal((await fetch(`${server.url}/health`)).status, 200);
    server.child.kill('SIGTERM');
    await once(server.child, 'exit');
    await assert.rejects(fetch(`${server.url}/health`));
  });
});
