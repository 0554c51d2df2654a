import { setTimeout as pause } from 'node:timers/promises';
import type { Bench } from '../bench.ts';
import { processorMs, residentMegabytes } from '../processes.ts';
import { startRelay } from '../servers.ts';

const BUDGET_MB = 90;
/** Maximum CPU time of an idle server, in percent of one core. */
const BUDGET_PERCENT = 0.5;
const SETTLE_MS = 5_000;
/**
 * Duration of the measurement in ms. It is longer than the minute between two sweeps of the store, so at least one
 * sweep runs.
 */
const WATCH_MS = 65_000;

/** Memory and CPU time of an idle server. The ratio is its memory divided by the budget for memory. */
export default {
  name: 'idle',
  claim: 'less than 90 MB and 0.5 % of a core',
  limit: 1,
  async run() {
    await using relay = await startRelay();
    await pause(SETTLE_MS);
    const before = processorMs(relay.pid);
    await pause(WATCH_MS);
    const percent = ((processorMs(relay.pid) - before) / WATCH_MS) * 100;
    const measured = residentMegabytes(relay);
    return {
      ...{ measured, baseline: BUDGET_MB, unit: 'MB', ratio: measured / BUDGET_MB },
      detail: `memory of a server that nobody asks, which takes ${percent.toFixed(2)} % of a core; budget: 90 MB, 0.5 %`,
      ...(percent >= BUDGET_PERCENT ? { broken: `it takes ${percent.toFixed(2)} % of a core` } : {}),
    };
  },
} satisfies Bench;
