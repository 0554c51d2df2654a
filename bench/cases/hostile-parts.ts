import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Bench } from '../bench.ts';
import { percentile } from '../load.ts';
import { benchFolder, type Server, startWatchedRelay } from '../servers.ts';

const BUDGET_MS = 250;
const BUDGET_MB = 600;
/** CPU time of one piece of work on the event loop. */
const BUDGET_SLICE_MS = 100;
const AT_ONCE = 40;
const LARGE = 24 * 1024 * 1024;

const PAYLOADS = [
  '\n'.repeat(LARGE),
  '['.repeat(LARGE),
  `[${'{},'.repeat(LARGE / 3 - 2)}{}]`,
  `[${'0,'.repeat(LARGE / 2 - 20)}12345678901234567890]`,
  'x'.repeat(LARGE),
];
const QUERIES = [
  'json=/0',
  'outline=1',
  'lines=-20',
  'cost=1',
  'grep=(x%2Bx%2B)%2By',
  'lines=9-&cost=1',
  'json=',
];

/** Not against another program but against three budgets: the ratio is the part that is used up of the tightest. */
export default {
  name: 'hostile-parts',
  claim: 'less than 250 ms',
  limit: 1,
  async run() {
    const folder = benchFolder();
    const figures = join(folder, 'longest');
    try {
      await using relay = await startWatchedRelay(figures);
      await pause(2_500);
      const urls: string[] = [];
      for (const body of PAYLOADS) urls.push(await push(relay, body));
      const asked = Array.from({ length: AT_ONCE }, (_, i) =>
        fetch(`${urls[i % urls.length]}?${QUERIES[i % QUERIES.length]}`).then((answer) => answer.text()),
      );
      let done = false;
      const all = Promise.allSettled(asked).then(() => {
        done = true;
      });
      const times: number[] = [];
      while (!done || times.length < 100) {
        const began = performance.now();
        await (await fetch(`${relay.url}/health`)).text();
        times.push(performance.now() - began);
        await pause(10);
      }
      await all;
      const measured = percentile(times, 0.99);
      const memory = peakMegabytes(relay);
      const slice = Number(readFileSync(figures, 'utf8'));
      const ratio = Math.max(measured / BUDGET_MS, memory / BUDGET_MB, slice / BUDGET_SLICE_MS);
      const detail =
        `p99 of /health beside ${AT_ONCE} requests for parts of hostile payloads of 24 MB; budget: ${BUDGET_MS} ms; ` +
        `memory at most ${Math.round(memory)} of ${BUDGET_MB} MB, ` +
        `the event loop at most ${Math.round(slice)} of ${BUDGET_SLICE_MS} ms of CPU at a time`;
      return { measured, baseline: BUDGET_MS, unit: 'ms', ratio, detail };
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
} satisfies Bench;

async function push({ url }: Server, body: string): Promise<string> {
  const response = await fetch(`${url}/push`, { method: 'POST', body });
  return `${url}/pull/${((await response.json()) as { id: string }).id}`;
}

/** As the kernel of Linux counts it; elsewhere there is nothing to read. */
function peakMegabytes({ pid }: Server): number {
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;
}
