import { findNatsServer } from '../../test/nats/cluster.ts';
import type { Bench } from '../bench.ts';
import { type Figures, figuresOf, filledCluster } from '../nats-figures.ts';
import type { Amounts } from '../nats-load.ts';

/**
 * Number of pointers. There are a tenth as many channels, and a tenth as many threads. The full run uses
 * RELAY_BENCH_POINTERS=1000000, which takes 15 minutes and 4 GB.
 */
const MANY = Number(process.env.RELAY_BENCH_POINTERS ?? 20_000);
const FEW = 100;

/** Restarts the NATS servers and the relay on a filled store and measures each step. Informational. */
export default {
  name: 'nats-large',
  claim: null,
  limit: null,
  async run() {
    const natsServer = await findNatsServer();
    if ('missing' in natsServer) return { skipped: natsServer.missing };
    const few = await figuresWith({ pointers: FEW, channels: FEW, threads: FEW });
    const many = await figuresWith({ pointers: MANY, channels: MANY / 10, threads: MANY / 10 });
    const line = (name: string) =>
      `${name}: ${formatFigure(many[name]!)}; with ${FEW} of each: ${formatFigure(few[name]!)}`;
    return {
      ...{ measured: many.push!, baseline: few.push!, unit: 'ms', ratio: many.push! / few.push! },
      detail: `a push into ${MANY} pointers, ${MANY / 10} channels and threads in a cluster of three; into ${FEW} of each`,
      more: Object.keys(many).map(line).join('\n'),
    };
  },
} satisfies Bench;

async function figuresWith(amounts: Amounts): Promise<Figures> {
  await using cluster = await filledCluster(amounts);
  return await figuresOf(cluster);
}

function formatFigure(value: number): string {
  return value < 10 ? value.toFixed(1) : String(Math.round(value));
}
