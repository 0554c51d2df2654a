import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { Audience } from '../audience.ts';
import type { Bench } from '../bench.ts';
import { type Server, startRelay } from '../servers.ts';

const SUBSCRIBERS = 5000;
const BUDGET_MB = 60;

/** Not against another program but against a budget: the ratio is the part of it that is used up. */
export default {
  name: 'channels-idle',
  claim: 'less than 60 MB',
  limit: 1,
  async run() {
    await using relay = await startRelay();
    {
      // What the first connections bring into memory is the program, not the subscribers.
      using first = new Audience(relay.url, 'idle');
      await first.grow(300);
      await first.push();
    }
    await pause(2000);
    const before = residentMegabytes(relay);
    using audience = new Audience(relay.url, 'idle');
    await audience.grow(SUBSCRIBERS);
    await pause(2000);
    const measured = residentMegabytes(relay) - before;
    const detail = 'what 5 000 sockets add to the resident memory of the server; budget: 60 MB';
    return { measured, baseline: BUDGET_MB, unit: 'MB', ratio: measured / BUDGET_MB, detail };
  },
} satisfies Bench;

/** As the kernel of Linux counts it; elsewhere there is nothing to read. */
function residentMegabytes({ pid }: Server): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)![1]) / 1024;
}
