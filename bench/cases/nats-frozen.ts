import { findNatsServer, startCluster } from '../../test/nats/cluster.ts';
import type { Bench } from '../bench.ts';
import { type ReadTimes, readWhileFrozen } from '../frozen-node.ts';
import { startRelay } from '../servers.ts';

const LIMIT_MS = 1_500;

/** The ratio is the time of the slowest kind of read divided by the limit for a read. */
export default {
  name: 'nats-frozen',
  claim: 'p99 of each kind of read below 1.5 s',
  limit: 1,
  async run() {
    const natsServer = await findNatsServer();
    if ('missing' in natsServer) return { skipped: natsServer.missing };
    await using cluster = await startCluster();
    await using first = await startRelay('--engine', cluster.url);
    await using second = await startRelay('--engine', cluster.url);
    const all = await readWhileFrozen(cluster, [first.url, second.url]);
    const slowest = all.reduce((a, b) => (b.p99 > a.p99 ? b : a));
    const failed = all.reduce((sum, times) => sum + times.failed, 0);
    return {
      measured: slowest.p99,
      baseline: LIMIT_MS,
      unit: 'ms',
      ratio: slowest.p99 / LIMIT_MS,
      detail: `p99 of the slowest kind of read (${slowest.kind}) while each of three nodes is frozen in turn; the limit`,
      ...(failed > 0 && { broken: `${failed} reads failed` }),
      more: all.map(formatTimes).join('\n'),
    };
  },
} satisfies Bench;

function formatTimes({ kind, reads, failed, p50, p99, most }: ReadTimes): string {
  const ms = (value: number) => `${Math.round(value)} ms`;
  return `${kind}: ${reads} reads, ${failed} failed, p50 ${ms(p50)}, p99 ${ms(p99)}, longest ${ms(most)}`;
}
