import { connect } from '@nats-io/transport-node';
import { pause } from '../src/base/pause.ts';
import type { Cluster } from '../test/nats/cluster.ts';
import { current, STREAMS } from '../test/nats/raw-client.ts';
import { percentile } from './statistics.ts';

/** Time in ms for which each node is frozen. The reads of the first `SETTLING_MS` do not count. */
const FROZEN_MS = 25_000;
const SETTLING_MS = 5_000;
/** Time in ms between two reads of one kind. */
const PAUSE_MS = 25;
const LARGE_BYTES = 700_000;

export interface ReadTimes {
  readonly kind: string;
  readonly reads: number;
  readonly failed: number;
  readonly p50: number;
  readonly p99: number;
  readonly most: number;
}

/** Freezes each node in turn and reads from all relays meanwhile. Returns the latencies per kind of read. */
export async function readWhileFrozen(cluster: Cluster, urls: readonly string[]): Promise<ReadTimes[]> {
  const times = new Map<string, number[]>();
  const failed = new Map<string, number>();
  const reads = await prepareReads(urls[0]!);
  for (const node of cluster.nodes) {
    await replicasCurrent(cluster);
    const began = performance.now();
    process.kill(node.pid!, 'SIGSTOP');
    const loop = async (url: string, kind: string, path: string) => {
      while (performance.now() < began + FROZEN_MS) {
        const sentAt = performance.now();
        const ok = await fetch(url + path).then(
          async (answer) => (await answer.arrayBuffer()) && answer.ok,
          () => false,
        );
        if (sentAt >= began + SETTLING_MS) {
          times.set(kind, [...(times.get(kind) ?? []), performance.now() - sentAt]);
          if (!ok) failed.set(kind, (failed.get(kind) ?? 0) + 1);
        }
        await pause(PAUSE_MS);
      }
    };
    try {
      await Promise.all(
        urls.flatMap((url) => Object.entries(reads).map(([kind, path]) => loop(url, kind, path))),
      );
    } finally {
      process.kill(node.pid!, 'SIGCONT');
    }
  }
  return [...times].map(([kind, all]) => ({
    ...{ kind, reads: all.length, failed: failed.get(kind) ?? 0 },
    ...{ p50: percentile(all, 0.5), p99: percentile(all, 0.99), most: Math.max(...all) },
  }));
}

/** Stores data of each kind. Returns for each kind the path that reads it. */
async function prepareReads(url: string): Promise<Record<string, string>> {
  const post = async (path: string, body: unknown) => {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' } };
    const answer = await fetch(url + path, { ...init, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}`);
    return (await answer.json()) as { id: string; thread_id: string };
  };
  const { id: small } = await post('/push', { data: 'small', channel: 'frozen', ttl: 3600 });
  const { id: large } = await post('/push', { data: 'x'.repeat(LARGE_BYTES), ttl: 3600 });
  const { thread_id: thread } = await post('/threads', { name: 'frozen' });
  await post(`/threads/${thread}/state/patch`, [
    { op: 'add', path: '/facts/-', value: { id: 'f', key: 'frozen', value: 'one node' } },
  ]);
  return {
    peek: `/peek/${small}`,
    pull: `/pull/${small}`,
    'pull of 700 KB': `/pull/${large}?raw=1`,
    'list of pointers': '/pointers?limit=20',
    'list of threads': '/threads?limit=20',
    'state of a thread': `/threads/${thread}/state`,
    'events of a thread': `/threads/${thread}/events`,
    'position of a channel': '/channels/frozen/position',
  };
}

async function replicasCurrent({ nodes }: Cluster): Promise<void> {
  const nats = await connect({ servers: nodes.map(({ address }) => address) });
  await current(nats, STREAMS);
  await nats.close();
}
