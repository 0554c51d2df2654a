import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { connect } from '@nats-io/transport-node';
import { parse } from 'yaml';
import { OPTIONS } from '../../src/app/options.ts';
import { until } from '../until.ts';
import { findNatsServer, freePorts } from './cluster.ts';

const run = promisify(execFile);
const natsServer = await findNatsServer();
const openssl = await run('openssl', ['version']).then(
  () => false as const,
  () => 'there is no openssl',
);
const skip = 'missing' in natsServer ? natsServer.missing : openssl;
const binary = 'path' in natsServer ? natsServer.path : '';

const PASSWORDS = { ROUTE_PASSWORD: 'route-pw', RELAY_PASSWORD: 'relay-pw', ADMIN_PASSWORD: 'admin-pw' };
const deploy = (name: string) => readFileSync(join('deploy/nats', name), 'utf8');

let folder: string;
const children: ReturnType<typeof spawn>[] = [];

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'relay-deploy-'));
});

after(async () => {
  for (const child of children) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  }
  rmSync(folder, { recursive: true, force: true });
});

test('three nodes with the production configuration serve two relays over TLS and reject other clients', {
  skip,
}, async () => {
  await makeCertificates();
  const ports = await freePorts(11);
  const servers = [0, 1, 2].map((i) => `127.0.0.1:${ports[i]}`);
  const nodes = [0, 1, 2].map((i) => startNode(i, ports));
  await Promise.all(nodes);
  const ca = join(folder, 'certs', 'ca.pem');
  const engine = `tls://relay:${PASSWORDS.RELAY_PASSWORD}@${servers.join(',')}`;
  // Start the relays with the command and the variables of contextrelay.service.
  const relays = [9, 10].map((at) => {
    const url = `http://127.0.0.1:${ports[at]}`;
    const home = join(folder, `relay-${at}`);
    children.push(
      spawn(process.execPath, ['bin/relay.ts', 'up', '--home', home, '--port', String(ports[at])], {
        env: { ...process.env, RELAY_ENGINE: engine, NODE_EXTRA_CA_CERTS: ca, RELAY_PUBLIC_URL: url },
        stdio: 'ignore',
      }),
    );
    return url;
  });
  for (const url of relays) await until(() => isReady(url), { everyMs: 100 });
  const body = JSON.stringify({ data: 'hello', channel: 'c' });
  const headers = { 'Content-Type': 'application/json' };
  const pushed = await fetch(`${relays[0]}/push`, { method: 'POST', headers, body });
  assert.equal(pushed.status, 200);
  const { id } = (await pushed.json()) as { id: string };
  assert.equal(await (await fetch(`${relays[1]}/pull/${id}?raw=1`)).text(), 'hello');
  const ready = (await (await fetch(`${relays[0]}/ready`)).json()) as { warnings?: string[] };
  assert.equal(ready.warnings, undefined, 'three copies');

  // Back up and restore as docs/nats.md says, with the login in a file. The restore uses another store of the cluster.
  const login = join(folder, 'cluster');
  writeFileSync(login, engine, { mode: 0o600 });
  const env = { ...process.env, RELAY_ENGINE_FILE: login, NODE_EXTRA_CA_CERTS: ca };
  const command = (...args: string[]) => {
    const home = join(folder, 'commands');
    return run(process.execPath, ['bin/relay.ts', ...args, '--home', home], { env });
  };
  const copy = join(folder, 'backup');
  await command('backup', copy);
  await command('restore', copy, '--engine', `tls://${servers.join(',')}/restored`);
  const restored = await command('backup', join(folder, 'again'), '--engine', `${engine}/restored`);
  assert.match(restored.stdout, /again/);

  const tls = { caFile: ca };
  await assert.rejects(connect({ servers, tls, user: 'relay', pass: 'wrong', timeout: 5000 }));
  await assert.rejects(connect({ servers, timeout: 5000, reconnect: false }), 'without TLS');
  const nats = await connect({ servers, tls, user: 'relay', pass: PASSWORDS.RELAY_PASSWORD });
  const refused = (async () => {
    for await (const { type } of nats.status()) if (type === 'error') return;
  })();
  nats.publish('others.secret', 'x');
  await refused;
  await nats.close();
});

test('NATS accepts the configuration of the nodes in the compose file', { skip }, async () => {
  const compose = parse(deploy('compose.yaml'), { merge: true }) as {
    services: Record<
      string,
      { command?: string | string[]; configs?: { source: string }[]; volumes?: string[] }
    >;
    configs: Record<string, { content: string }>;
    volumes: Record<string, unknown>;
  };
  const file = join(folder, 'compose.conf');
  writeFileSync(file, compose.configs.node!.content.replace('/data', join(folder, 'compose')));
  await run(binary, ['-t', '-c', file, '--server_name', 'nats-1']);
  const gigabytes = (pattern: RegExp) => Number(pattern.exec(compose.configs.node!.content)?.[1]);
  const [node, account] = [
    gigabytes(/max_mem.*max_file: (\d+)GB/),
    gigabytes(/jetstream \{ max_file: (\d+)GB/),
  ];
  assert.ok(account < 3 * node, 'the account is full before a node is, which would switch JetStream off');
  for (const [name, { configs = [], volumes = [] }] of Object.entries(compose.services)) {
    for (const { source } of configs) assert.ok(compose.configs[source], `${name} has the file ${source}`);
    for (const volume of volumes) assert.ok(volume.split(':')[0]! in compose.volumes, `${name}: ${volume}`);
  }
  const up = String(compose.services['relay-1']!.command);
  const { stdout: help } = await run(process.execPath, ['bin/relay.ts', 'up', '--help']);
  for (const flag of up.match(/--(?!home)[a-z-]+/g)!) assert.ok(help.includes(`${flag} `), flag);
});

test('the variables in the units and the chart are those that the relay and the nodes read', () => {
  const optionNames = Object.values(OPTIONS).map((option) => ('env' in option ? option.env : ''));
  const validNames = new Set<unknown>([...optionNames, 'NODE_EXTRA_CA_CERTS']);
  const unit = deploy('systemd/contextrelay.service');
  const chart = deploy('helm/contextrelay/templates/relay.yaml');
  const set = [...unit.matchAll(/^# {3}([A-Z_]+)=/gm), ...chart.matchAll(/name: (RELAY_[A-Z_]+)/g)];
  assert.ok(set.length >= 6);
  for (const [, name] of set) assert.ok(validNames.has(name), `${name} is an option`);
  const configVariables = new Set(
    [...deploy('nats-server.conf').matchAll(/\$([A-Z_0-9]+)/g)].map(([, name]) => name),
  );
  configVariables.delete('JS');
  const unitComment = deploy('systemd/nats-server.service').split('[Unit]')[0]!;
  for (const name of ['NODE', 'ROUTE_1', 'ROUTE_3', ...Object.keys(PASSWORDS)])
    assert.ok(configVariables.has(name) && unitComment.includes(name), name);
});

/** Starts a node with the configuration file for production. Only ports and paths are replaced. */
async function startNode(i: number, ports: number[]): Promise<void> {
  const replace = (text: string, from: string, to: string) => {
    assert.ok(text.includes(from), `the configuration has ${from}`);
    return text.replaceAll(from, to);
  };
  let config = deploy('nats-server.conf');
  config = replace(config, '0.0.0.0:4222', `127.0.0.1:${ports[i]}`);
  config = replace(config, '0.0.0.0:6222', `127.0.0.1:${ports[3 + i]}`);
  config = replace(config, '127.0.0.1:8222', `127.0.0.1:${ports[6 + i]}`);
  config = replace(config, '/certs/', join(folder, 'certs/'));
  config = replace(config, '"/data"', `"${join(folder, `node-${i}`)}"`);
  const file = join(folder, `node-${i}.conf`);
  writeFileSync(file, config);
  const route = (n: number) => `tls://route:${PASSWORDS.ROUTE_PASSWORD}@127.0.0.1:${ports[2 + n]}`;
  const env = { ...PASSWORDS, NODE: `node-${i}`, ROUTE_1: route(1), ROUTE_2: route(2), ROUTE_3: route(3) };
  const node = spawn(binary, ['-c', file], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  children.push(node);
  let log = '';
  await new Promise<void>((resolve, reject) => {
    node.stderr.on('data', (text) => {
      log += text;
      if (log.includes('Server is ready')) resolve();
    });
    node.once('exit', () => reject(new Error(log)));
  });
}

/** Creates a certificate authority and the certificate of the nodes. */
async function makeCertificates(): Promise<void> {
  const cwd = join(folder, 'certs');
  mkdirSync(cwd);
  writeFileSync(join(cwd, 'names'), 'subjectAltName=DNS:localhost,IP:127.0.0.1\n');
  const key = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes';
  const signed = '-CA ca.pem -CAkey ca-key.pem -CAcreateserial -days 2 -extfile names';
  for (const command of [
    `req -x509 ${key} -days 2 -keyout ca-key.pem -out ca.pem -subj /CN=authority`,
    `req ${key} -keyout node-key.pem -out node.csr -subj /CN=node`,
    `x509 -req -in node.csr ${signed} -out node.pem`,
  ])
    await run('openssl', command.split(' '), { cwd });
}

async function isReady(url: string): Promise<boolean> {
  return fetch(`${url}/ready`).then(
    ({ ok }) => ok,
    () => false,
  );
}
