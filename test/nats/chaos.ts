import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { NatsConnection } from '@nats-io/transport-node';
import { pause } from '../../src/base/pause.ts';
import { until } from '../until.ts';
import { type Cluster, freePorts, type Node, startCluster } from './cluster.ts';
import { Load } from './load.ts';
import { type Machine, makeNetwork } from './network.ts';
import { current, leaderOf, startRaw } from './raw-client.ts';

/** The seed decides the order of the failures. */
const SEED = Number(process.env.RELAY_CHAOS_SEED ?? 44);
const CUT_MS = 30_000;

export interface ChaosOptions {
  /** Number of failures. The last two are a network cut and a replaced node. */
  readonly blows: number;
  /** Time in ms after which only the two last failures are still injected. */
  readonly forMs?: number;
  say(line: string): void;
}

/** Number of acknowledged writes, how many of them were found at the end, and how many exist twice. */
export interface ChaosResult {
  readonly acknowledged: number;
  readonly found: number;
  readonly doubled: number;
  /** Longest time without an acknowledged push, in ms. */
  readonly longestMs: number;
  /** Number of acknowledged messages of a plain NATS client, and how many of them NATS lost. */
  readonly raw: { readonly acknowledged: number; readonly lost: number };
}

/** Runs two servers on three nodes under load and injects failures. */
export async function runChaos({
  blows,
  forMs = Number.POSITIVE_INFINITY,
  say,
}: ChaosOptions): Promise<ChaosResult> {
  const until = performance.now() + forMs;
  const networkResult = await makeNetwork(3);
  if ('missing' in networkResult) say(`${networkResult.missing}; a node is frozen instead of cut off`);
  await using network = 'missing' in networkResult ? null : networkResult;
  await using cluster = await startCluster({ machines: network?.machines });
  await using servers = await startServers(cluster.url);
  const load = new Load(servers.urls);
  await using raw = await startRaw(cluster.url);
  await load.begin();
  const blow = new Blows({ cluster, servers, load, nats: raw.nats, machines: network?.machines });
  for (let i = 0; i < blows - 2 && performance.now() < until; i++) {
    await pause(2000);
    say(await blow.some());
  }
  say(await blow.cut());
  say(await blow.replace());
  await pause(3000);
  await load.end();
  await raw.stop();
  say(`seed ${SEED}: ${load.pushed.size} pushes, ${load.patched.size} patches, ${load.done.size} jobs`);
  say(`the longest time without an acknowledged push: ${Math.round(load.longestGapMs)} ms`);
  const lost = await raw.lost();
  say(`the raw client: ${raw.acknowledged} acknowledged, ${lost} of them lost by NATS itself`);
  const counts = await load.count(servers.urls[0]!);
  return { ...counts, longestMs: load.longestGapMs, raw: { acknowledged: raw.acknowledged, lost } };
}

interface Scene {
  readonly cluster: Cluster;
  readonly servers: Servers;
  readonly load: Load;
  readonly nats: NatsConnection;
  readonly machines: readonly Machine[] | undefined;
}

/** Injects failures of nodes and servers, chosen by the seed. Each method returns a description of its failure. */
class Blows {
  readonly #scene: Scene;
  readonly #random = seeded(SEED);

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** Freezes a node, or kills a node or a server. */
  some(): Promise<string> {
    return this.#random() < 0.2 ? this.freeze() : this.kill();
  }

  /** Freezes a node for a while, like a paused machine. */
  async freeze(): Promise<string> {
    const { cluster, nats } = this.#scene;
    const node = this.#any(cluster.nodes);
    const ms = 5_000 + this.#random() * 15_000;
    process.kill(node.pid!, 'SIGSTOP');
    await pause(ms);
    process.kill(node.pid!, 'SIGCONT');
    await current(nats);
    return `${node.name} was frozen for ${Math.round(ms / 1000)} s`;
  }

  /** Kills a server, a node or the leader, like a power cut, and starts it again. */
  async kill(): Promise<string> {
    const { cluster, servers, nats } = this.#scene;
    if (this.#random() < 0.3) {
      const at = Math.floor(this.#random() * servers.urls.length);
      await servers.restart(at);
      return `server ${at + 1} was killed`;
    }
    const leader = await leaderOf(nats).catch(() => null);
    const isLeader = ({ name }: Node) => name === leader;
    const node = (this.#random() < 0.6 && cluster.nodes.find(isLeader)) || this.#any(cluster.nodes);
    await node.kill();
    await pause(1000 + this.#random() * 3000);
    await node.start();
    await current(nats);
    return `${node.name}${isLeader(node) ? ', the leader,' : ''} was killed`;
  }

  /**
   * Cuts a node off for a while. The other nodes continue, and the isolated node rejects writes. If the nodes share
   * this machine, freezes the node instead.
   */
  async cut(): Promise<string> {
    const { cluster, load, nats, machines } = this.#scene;
    const node = this.#any(cluster.nodes);
    const machine = machines?.[cluster.nodes.indexOf(node)];
    const seconds = CUT_MS / 1000;
    await current(nats);
    if (!machine) {
      process.kill(node.pid!, 'SIGSTOP');
      await pause(CUT_MS);
      process.kill(node.pid!, 'SIGCONT');
      await current(nats);
      return `${node.name} was frozen for ${seconds} s`;
    }
    await using inside = await startInside(machine, node);
    assert.equal((await inside.push()).status, 200);
    const before = load.pushed.size;
    await machine.cut();
    const [refused] = await Promise.all([inside.push(), pause(CUT_MS)]);
    assert.deepEqual([refused.status, refused.code], [503, 'cluster_unavailable'], 'the minority refuses');
    // The error mentions the Idempotency-Key only if the push may have been stored.
    assert.match(refused.hint, /Try again in a moment/);
    // If the leader was cut off, another leader is elected after some seconds.
    const pushed = load.pushed.size - before;
    assert.ok(pushed > 0, 'the majority goes on');
    await machine.join();
    await current(nats);
    await until(async () => (await inside.push()).status === 200, { everyMs: 200, timeoutMs: 300_000 });
    return `${node.name} was cut off for ${seconds} s and refused; the others took ${pushed} pushes`;
  }

  /** Removes a node for good and replaces it with a new node with an empty disk. */
  async replace(): Promise<string> {
    const { cluster, nats } = this.#scene;
    const node = this.#any(cluster.nodes);
    await current(nats);
    const next = await cluster.replace(node);
    await current(nats);
    return `${node.name} was replaced by ${next.name}`;
  }

  #any<T>(items: readonly T[]): T {
    return items[Math.floor(this.#random() * items.length)]!;
  }
}

interface Inside extends AsyncDisposable {
  push(): Promise<{ status: number; code: string; hint: string }>;
}

/** Starts a relay on the machine of a node. It connects only to this node. */
async function startInside(machine: Machine, node: Node): Promise<Inside> {
  const home = mkdtempSync(join(tmpdir(), 'relay-inside-'));
  const [program = '', ...prefix] = [...machine.prefix, process.execPath];
  const engine = `nats://${node.address}`;
  const args = ['bin/relay.ts', 'up', '--home', home, '--port', '7474', '--engine', engine];
  const server = spawn(program, [...prefix, ...args], { stdio: 'ignore' });
  const ended = once(server, 'exit');
  const push = async () => {
    const { stdout } = await promisify(execFile)(program, [...prefix, '--eval', PUSH]);
    return JSON.parse(stdout) as Awaited<ReturnType<Inside['push']>>;
  };
  await until(async () => (await push()).status === 200, { everyMs: 200, timeoutMs: 300_000 });
  return {
    push,
    async [Symbol.asyncDispose]() {
      server.kill('SIGKILL');
      await ended;
      rmSync(home, { recursive: true, force: true });
    },
  };
}

const PUSH = `
  fetch('http://127.0.0.1:7474/push', { method: 'POST', body: JSON.stringify({ data: 'from inside' }),
    headers: { 'Content-Type': 'application/json' } })
    .then(async (answer) => ({ status: answer.status, body: await answer.json() }), () => ({ status: 0, body: {} }))
    .then(({ status, body: { code = '', hint = '' } }) => console.log(JSON.stringify({ status, code, hint })))
`;

export interface Servers extends AsyncDisposable {
  readonly urls: readonly string[];
  /**
   * Kills a server and starts it again. With `root`, stops the server instead, and starts the program of that clone.
   */
  restart(at: number, root?: string): Promise<void>;
}

export async function startServers(engine: string, root = '.'): Promise<Servers> {
  const folder = mkdtempSync(join(tmpdir(), 'relay-chaos-'));
  const ports = await freePorts(2);
  const urls = ports.map((port) => `http://127.0.0.1:${port}`);
  const running: ChildProcess[] = [];
  const start = async (at: number, clone = root) => {
    const home = join(folder, String(at));
    const args = [
      join(clone, 'bin/relay.ts'),
      'up',
      '--home',
      home,
      '--port',
      String(ports[at]),
      '--engine',
      engine,
    ];
    running[at] = spawn(process.execPath, args, { stdio: 'ignore' });
    const ready = () =>
      fetch(`${urls[at]}/ready`).then(
        ({ ok }) => ok,
        () => false,
      );
    await until(ready, { everyMs: 100, timeoutMs: 300_000 });
  };
  const kill = async (at: number, signal: NodeJS.Signals = 'SIGKILL') => {
    const exit = once(running[at]!, 'exit');
    running[at]!.kill(signal);
    await exit;
  };
  await Promise.all(urls.map((_, at) => start(at)));
  return {
    urls,
    async restart(at, clone) {
      await kill(at, clone === undefined ? 'SIGKILL' : 'SIGTERM');
      await start(at, clone);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(urls.map((_, at) => kill(at)));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Returns a small seeded random number generator. */
function seeded(seed: number): () => number {
  let state = Math.imul(seed, 2_654_435_761) >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
