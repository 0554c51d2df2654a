import { setTimeout as pause } from 'node:timers/promises';
import type { Bench } from '../bench.ts';
import { compareRequests } from '../compare-requests.ts';
import { residentMegabytes } from '../processes.ts';
import { type Server, startRelay } from '../servers.ts';

const AT_ONCE = 32;
const BYTES = 25_000_000;
const BUDGET_MB = 150;
const LOOK_MS = 20;

/** Memory that concurrent large pushes add to a server. The ratio is this memory divided by its budget. */
export default {
  name: 'memory-loaded',
  claim: 'less than 150 MB above idle',
  limit: 1,
  async run() {
    await using relay = await startRelay();
    // The first requests load code into memory. Send them before measuring the load.
    await pushes(relay, 1, 200_000);
    await pause(1000);
    const idle = residentMegabytes(relay);
    let most = idle;
    const watch = setInterval(() => {
      most = Math.max(most, residentMegabytes(relay));
    }, LOOK_MS);
    await pushes(relay, AT_ONCE, BYTES);
    clearInterval(watch);
    const measured = most - idle;
    const detail = `what ${AT_ONCE} raw pushes of 25 MB at once add to ${Math.round(idle)} MB; budget: ${BUDGET_MB} MB`;
    return { measured, baseline: BUDGET_MB, unit: 'MB', ratio: measured / BUDGET_MB, detail };
  },
} satisfies Bench;

/** Sends pushes to the relay. `compareRequests` needs two servers to compare, so the relay is given as both. */
async function pushes({ url }: Server, atOnce: number, bodyBytes: number): Promise<void> {
  const side = { url: `${url}/push`, bodyBytes };
  await compareRequests({ ours: side, baseline: side, rounds: 1, requests: atOnce, atOnce, warmups: 0 });
}
