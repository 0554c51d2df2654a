import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { connect } from '@nats-io/transport-node';
import { cleanEnv, ENTRY, NODE } from '../cli/program.ts';
import { until } from '../until.ts';
import { findNatsServer, freePorts, startCluster } from './cluster.ts';
import { current, STREAMS } from './raw-client.ts';

const run = promisify(execFile);
const natsServer = await findNatsServer();
const skip = 'missing' in natsServer ? natsServer.missing : false;

const PAGE = readFileSync('docs/runbook.md', 'utf8');
const ACCOUNT_BYTES = 64 * 1024 * 1024;

/** Returns the commands below a comment such as `<!-- runbook: full -->`. */
function commandsOf(procedure: string): string {
  const block = new RegExp(`<!-- runbook: ${procedure} -->\\n\`\`\`bash\\n([\\s\\S]*?)\`\`\``).exec(PAGE);
  assert.ok(block, `the runbook has commands for ${procedure}`);
  return block[1]!;
}

test('the commands of the runbook work on a real cluster', { skip, timeout: 900_000 }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'relay-runbook-'));
  const home = join(folder, 'home');
  const bin = join(folder, 'bin');
  for (const path of [home, bin]) mkdirSync(path);
  writeFileSync(join(bin, 'relay'), `#!/bin/sh\nexec '${NODE}' '${ENTRY}' "$@"\n`);
  chmodSync(join(bin, 'relay'), 0o755);
  await using cluster = await startCluster({ fsync: false, accountBytes: ACCOUNT_BYTES });
  const [port] = await freePorts(1);
  const url = `http://127.0.0.1:${port}`;
  const path = [bin, dirname('path' in natsServer ? natsServer.path : ''), process.env.PATH].join(delimiter);
  const env = cleanEnv({ home, env: { PATH: path, RELAY_URL: url, CLUSTER: cluster.url } });
  const start = () =>
    spawn(NODE, [ENTRY, 'up', '--port', String(port), '--engine', cluster.url], { env, stdio: 'ignore' });
  let server = start();
  const stop = async () => {
    const exit = once(server, 'exit');
    server.kill();
    await exit;
  };
  const isReady = () =>
    fetch(`${url}/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  const whenReady = () => until(isReady, { everyMs: 200, timeoutMs: 120_000 });
  const whenCurrent = async () => {
    const nats = await connect({ servers: cluster.nodes.map(({ address }) => address) });
    await current(nats, STREAMS);
    await nats.close();
  };
  /** Repeats the commands of a procedure until their output matches, because some figures are up to 15 s old. */
  const follow = async (procedure: string, expected: RegExp, more: NodeJS.ProcessEnv = {}) => {
    let printed = '';
    const matches = async () => {
      const o = { env: { ...env, ...more }, timeout: 120_000 };
      printed = await run('bash', ['-e', '-o', 'pipefail', '-c', commandsOf(procedure)], o).then(
        ({ stdout, stderr }) => stdout + stderr,
        (error) => `${error.message}\n${error.stdout}\n${error.stderr}`,
      );
      return expected.test(printed);
    };
    await until(matches, { everyMs: 2_000, timeoutMs: 120_000 }).catch(() => assert.match(printed, expected));
    t.diagnostic(`${procedure}: done`);
  };
  try {
    await whenReady();
    await follow('first-look', /"status":"ready"[\s\S]*relay_cluster_replicas_current/);

    await cluster.nodes[2]!.kill();
    await follow('node-lost', /"status":"ready"[\s\S]*replicas_current\{stream="relay-logs"\} 2/);
    await cluster.nodes[2]!.start();
    await whenCurrent();

    await cluster.replace(cluster.nodes[1]!);
    await whenCurrent();
    await follow('node-replaced', /replicas_current\{stream="relay-logs"\} 3/);

    const [first, second] = cluster.nodes;
    await Promise.all([first!.kill(), second!.kill()]);
    await follow('no-quorum', /"status":"ok"[\s\S]*(store_unavailable|cluster_unavailable)/);
    await Promise.all([first!.start(), second!.start()]);
    await whenCurrent();
    await whenReady();

    process.kill(first!.pid!, 'SIGSTOP');
    await follow('frozen', /replicas_current\{stream="relay-logs"\} 2[\s\S]*\/pull\//);
    process.kill(first!.pid!, 'SIGCONT');
    await whenCurrent();

    await follow('restore', /records/, { BACKUP: join(folder, 'backup') });

    await follow('full', /relay_store_quota_bytes/);

    await stop();
    server = start();
    await whenReady();
    await follow('upgrade', /200\n[\s\S]*"status":"ok"/);

    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
    const names = ['-keyout', 'key.pem', '-out', 'node.pem', '-subj', '/CN=node'];
    await run('openssl', ['req', '-x509', ...key, '-days', '1', ...names], { cwd: folder });
    const more = { CERTIFICATE: join(folder, 'node.pem'), NODE_PID: String(first!.pid) };
    await follow('expired-certificate', /notAfter=[\s\S]*healthy/, more);
  } finally {
    await stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
