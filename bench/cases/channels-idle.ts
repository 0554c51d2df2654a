import { setTimeout as pause } from 'node:timers/promises';
import { Audience } from '../audience.ts';
import type { Bench } from '../bench.ts';
import { residentMegabytes } from '../processes.ts';
import { startRelay } from '../servers.ts';

const SUBSCRIBERS = 5000;
const BUDGET_MB = 50;

/** Compares the figure with a budget, not with another program. The ratio is the figure divided by the budget. */
export default {
  name: 'channels-idle',
  claim: 'less than 50 MB',
  limit: 1,
  async run() {
    await using relay = await startRelay();
    {
      // The first connections load code into memory. Open them before measuring the subscribers.
      using first = new Audience(relay, 'idle');
      await first.grow(300);
      await first.push();
    }
    await pause(2000);
    const before = residentMegabytes(relay);
    using audience = new Audience(relay, 'idle');
    await audience.grow(SUBSCRIBERS);
    await pause(2000);
    const measured = residentMegabytes(relay) - before;
    const detail = 'what 5 000 sockets add to the resident memory of the server; budget: 50 MB';
    return { measured, baseline: BUDGET_MB, unit: 'MB', ratio: measured / BUDGET_MB, detail };
  },
} satisfies Bench;
