import { type Cluster, startCluster } from '../test/nats/cluster.ts';
import { type Amounts, fillStore } from './nats-load.ts';
import { residentMegabytes } from './processes.ts';
import { type Server, startRelay } from './servers.ts';
import { median } from './statistics.ts';

const TIMES = 30;

/** Measurements of a cluster, by name. Times are in ms, memory in MB. */
export type Figures = Record<string, number>;

/** Starts and fills a cluster. The cluster does not sync writes, because filling it would otherwise take too long. */
export async function filledCluster(amounts: Amounts): Promise<Cluster> {
  const cluster = await startCluster({ fsync: false });
  await using relay = await startRelay('--engine', cluster.url);
  await fillStore(cluster.url, relay.url, amounts);
  return cluster;
}

/**
 * Restarts the nodes, starts a relay, and measures how long each takes. Then measures lists, a push, a pull, the
 * metrics, and the memory of the relay and of the largest node.
 */
export async function figuresOf(cluster: Cluster): Promise<Figures> {
  const figures: Figures = {};
  const time = async (name: string, work: () => Promise<unknown>) => {
    const began = performance.now();
    await work();
    figures[name] = performance.now() - began;
  };
  await time('restart of all nodes', () => restart(cluster));
  let relay!: Server;
  await time('start of a relay', async () => {
    relay = await startRelay('--engine', cluster.url);
    await get(`${relay.url}/ready`);
  });
  await using _ = relay;
  for (const list of ['pointers', 'channels', 'threads']) {
    const url = `${relay.url}/${list}?limit=50`;
    await time(`first list of ${list}`, () => get(url));
    figures[`list of ${list}`] = await medianOf(() => get(url));
  }
  figures.push = await medianOf(() => push(relay.url));
  const { id } = await push(relay.url);
  figures.pull = await medianOf(() => get(`${relay.url}/pull/${id}`));
  figures.metrics = await medianOf(() => get(`${relay.url}/metrics`), 5);
  figures['memory of the relay'] = residentMegabytes(relay);
  const nodes = cluster.nodes.map(({ pid }) => residentMegabytes({ pid: pid! }));
  figures['memory of a node'] = Math.max(...nodes);
  return figures;
}

async function restart({ nodes }: Cluster): Promise<void> {
  await Promise.all(nodes.map((node) => node.stop()));
  await Promise.all(nodes.map((node) => node.start()));
}

async function push(url: string): Promise<{ id: string }> {
  const init = { method: 'POST', headers: { 'content-type': 'application/json' } };
  const answer = await fetch(`${url}/push`, { ...init, body: JSON.stringify({ data: 'one more' }) });
  if (!answer.ok) throw new Error(`the push was answered with ${answer.status}`);
  return (await answer.json()) as { id: string };
}

async function get(url: string): Promise<void> {
  const answer = await fetch(url);
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}: ${text}`);
}

async function medianOf(work: () => Promise<unknown>, times = TIMES): Promise<number> {
  const durations: number[] = [];
  for (let i = 0; i < times; i++) {
    const began = performance.now();
    await work();
    durations.push(performance.now() - began);
  }
  return median(durations);
}
