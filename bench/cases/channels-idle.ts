import { setTimeout as pause } from 'node:timers/promises';
import { Audience } from '../audience.ts';
import type { Bench } from '../bench.ts';
import { residentMegabytes } from '../processes.ts';
import { startRelay } from '../servers.ts';

const SUBSCRIBERS = 5000;
const BUDGET_MB = 50;

/** Memory that 5 000 idle sockets add to a server. The ratio is this memory divided by its budget. */
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
