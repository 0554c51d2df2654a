import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { build } from 'esbuild';
import { fetchFixture } from './fixtures.ts';
import { install } from './installation.ts';
import { outsideEnv, serve } from './processes.ts';

const WORKER = `
import { ContextRelay } from 'contextrelay';
export default {
  async fetch(request, env) {
    const relay = new ContextRelay({ baseUrl: env.RELAY_URL });
    const url = await relay.push('from a Worker: 世界', { encrypted: true });
    return Response.json({ data: await relay.pull(url), node: typeof process });
  },
};`;

const CONFIG = (relayUrl: string) => `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .worker), (name = "internet", network = (allow = ["local", "private"]))],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.js")],
  compatibilityDate = "2026-06-01",
  bindings = [(name = "RELAY_URL", text = "${relayUrl}")],
);`;

const BINARIES: Record<string, string> = {
  'linux-x64': 'workerd-linux-64',
  'linux-arm64': 'workerd-linux-arm64',
  'darwin-x64': 'workerd-darwin-64',
  'darwin-arm64': 'workerd-darwin-arm64',
};
const binary = BINARIES[`${process.platform}-${process.arch}`];
const workerd = binary
  ? await fetchFixture('workerd@1.20261104.1')
  : { reason: `there is no workerd for ${process.platform}-${process.arch}` };

test('the SDK pushes and pulls from a Worker, without compatibility flags', {
  skip: 'reason' in workerd && workerd.reason,
}, async () => {
  using installation = await install();
  await using server = await serve(process.execPath, [installation.relay, 'up', '--port', '0'], {
    env: outsideEnv({ RELAY_HOME: installation.home }),
  });
  await build({
    stdin: { contents: WORKER, resolveDir: installation.folder },
    outfile: join(installation.folder, 'worker.js'),
    bundle: true,
    format: 'esm',
    platform: 'neutral',
    conditions: ['workerd', 'worker', 'browser'],
  });
  const config = installation.write('config.capnp', CONFIG(server.url));
  const modules = 'modules' in workerd ? workerd.modules : '';
  const child = spawn(
    join(modules, '@cloudflare', binary ?? '', 'bin', 'workerd'),
    ['serve', config, '--control-fd=3'],
    {
      stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
    },
  );
  try {
    const [line] = await once(child.stdio[3] as NodeJS.ReadableStream, 'data');
    const { port } = JSON.parse(String(line));
    const response = await fetch(`http://127.0.0.1:${port}/`);
    assert.deepEqual(await response.json(), { data: 'from a Worker: 世界', node: 'undefined' });
  } finally {
    const exit = once(child, 'exit');
    child.kill();
    await exit;
  }
});
