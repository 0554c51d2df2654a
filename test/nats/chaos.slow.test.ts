import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { connect, headers, type NatsConnection } from '@nats-io/transport-node';
import { pause } from '../../src/base/pause.ts';
import { until } from '../until.ts';
import { type Cluster, findNatsServer, freePorts, startCluster } from './cluster.ts';
import { Load } from './load.ts';

/** Another seed is another order of blows. */
const SEED = Number(process.env.RELAY_CHAOS_SEED ?? 44);
const BLOWS = Number(process.env.RELAY_CHAOS_BLOWS ?? 6);
const FROZEN_MS = 30_000;

const found = await findNatsServer();
const skip = 'missing' in found ? found.missing : false;

test('nodes and servers are killed, frozen and replaced, and every acknowledged write is there once', {
  skip,
  timeout: 300_000,
}, async (t) => {
  await using cluster = await startCluster();
  await using servers = await startServers(cluster.url);
  const load = new Load(servers.urls);
  await using raw = await startRaw(cluster.url);
  await load.begin();
  const random = seeded(SEED);
  for (let i = 0; i < BLOWS; i++) {
    await pause(2000);
    t.diagnostic(await strike(random, cluster, servers, raw.nats, i));
  }
  await pause(3000);
  await load.end();
  await raw.stop();
  t.diagnostic(
    `seed ${SEED}: ${load.pushed.size} pushes, ${load.patched.size} patches, ${load.done.size} jobs`,
  );
  t.diagnostic(`the longest time without an acknowledged push: ${Math.round(load.longestGapMs)} ms`);
  const lost = await raw.lost();
  t.diagnostic(`the raw client: ${raw.acknowledged} acknowledged, ${lost} of them lost by NATS itself`);
  await load.check(servers.urls[0]!, lost);
});

/** Blow by blow, the order by the seed: nodes, the leader, servers; then one node frozen, and one that loses its disk. */
async function strike(
  random: () => number,
  cluster: Cluster,
  servers: Servers,
  nats: NatsConnection,
  i: number,
): Promise<string> {
  const any = <T>(items: readonly T[]) => items[Math.floor(random() * items.length)]!;
  if (i === BLOWS - 2) {
    const node = any(cluster.nodes);
    process.kill(node.pid!, 'SIGSTOP');
    await pause(FROZEN_MS);
    process.kill(node.pid!, 'SIGCONT');
    return `${node.name} was frozen for ${FROZEN_MS / 1000} s`;
  }
  if (i === BLOWS - 1) {
    const node = any(cluster.nodes);
    await current(nats);
    await node.kill();
    node.wipe();
    await node.start();
    await current(nats);
    return `${node.name} was replaced by a new one`;
  }
  if (random() < 0.3) {
    const at = Math.floor(random() * servers.urls.length);
    await servers.restart(at);
    return `server ${at + 1} was killed`;
  }
  const leader = await leaderOf(nats).catch(() => null);
  const node = (random() < 0.6 && cluster.nodes.find(({ name }) => name === leader)) || any(cluster.nodes);
  await node.kill();
  await pause(1000 + random() * 3000);
  await node.start();
  await current(nats);
  return `${node.name}${node.name === leader ? ', the leader,' : ''} was killed`;
}

interface Servers extends AsyncDisposable {
  readonly urls: readonly string[];
  restart(at: number): Promise<void>;
}

async function startServers(engine: string): Promise<Servers> {
  const folder = mkdtempSync(join(tmpdir(), 'relay-chaos-'));
  const ports = await freePorts(2);
  const urls = ports.map((port) => `http://127.0.0.1:${port}`);
  const running: ChildProcess[] = [];
  const start = async (at: number) => {
    const home = join(folder, String(at));
    const words = ['bin/relay.ts', 'up', '--home', home, '--port', String(ports[at]), '--engine', engine];
    running[at] = spawn(process.execPath, words, { stdio: 'ignore' });
    const ready = () =>
      fetch(`${urls[at]}/ready`).then(
        ({ ok }) => ok,
        () => false,
      );
    await until(ready, 100);
  };
  const kill = async (at: number) => {
    const gone = once(running[at]!, 'exit');
    running[at]!.kill('SIGKILL');
    await gone;
  };
  await Promise.all(urls.map((_, at) => start(at)));
  return {
    urls,
    async restart(at) {
      await kill(at);
      await start(at);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(urls.map((_, at) => kill(at)));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The same as a client without us does it: what it loses, NATS has lost. */
async function startRaw(url: string) {
  const nats = await connect({ servers: url.slice('nats://'.length).split(','), maxReconnectAttempts: -1 });
  const api = async (what: string, body: object) =>
    (await nats.request(`$JS.API.${what}`, JSON.stringify(body), { timeout: 5000 })).json() as Record<
      string,
      never
    >;
  await api('STREAM.CREATE.raw', { name: 'raw', subjects: ['raw.>'], num_replicas: 3, storage: 'file' });
  const sequences = new Map<number, string>();
  let ended = false;
  const publishing = (async () => {
    for (let n = 0; !ended; n++) {
      const id = headers();
      id.set('Nats-Msg-Id', `raw ${n}`);
      for (;;) {
        const ack = await nats.request(`raw.${n}`, String(n), { timeout: 4000, headers: id }).then(
          (answer) => answer.json() as { seq?: number },
          () => null,
        );
        if (ack?.seq) sequences.set(ack.seq, String(n));
        if (ack?.seq || ended) break;
        await pause(100);
      }
      await pause(20);
    }
  })();
  return {
    nats,
    get acknowledged() {
      return sequences.size;
    },
    async stop() {
      ended = true;
      await publishing;
    },
    async lost() {
      let lost = 0;
      for (const [seq, text] of sequences) {
        const { message } = (await api('STREAM.MSG.GET.raw', { seq })) as { message?: { data: string } };
        if (!message || Buffer.from(message.data, 'base64').toString() !== text) lost++;
      }
      return lost;
    },
    [Symbol.asyncDispose]: async () => {
      ended = true;
      await nats.close();
    },
  };
}

interface StreamInfo {
  readonly cluster?: { leader?: string; replicas?: { name: string; current: boolean; offline?: boolean }[] };
}

async function infoOf(nats: NatsConnection, stream: string): Promise<StreamInfo> {
  return (await nats.request(`$JS.API.STREAM.INFO.${stream}`, '', { timeout: 2000 })).json();
}

async function leaderOf(nats: NatsConnection): Promise<string | null> {
  return (await infoOf(nats, 'relay-logs')).cluster?.leader ?? null;
}

/** Until every copy of every stream is as far as its leader. */
async function current(nats: NatsConnection): Promise<void> {
  for (const stream of ['relay-records', 'relay-logs', 'relay-blobs', 'relay-documents', 'raw']) {
    await until(async () => {
      const { cluster } = await infoOf(nats, stream).catch((): StreamInfo => ({}));
      const replicas = cluster?.replicas ?? [];
      return replicas.length === 2 && replicas.every((replica) => replica.current && !replica.offline);
    }, 200);
  }
}

/** A small generator of numbers that the seed decides. */
function seeded(seed: number): () => number {
  let state = Math.imul(seed, 2_654_435_761) >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
