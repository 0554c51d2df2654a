import { bareRoot } from '../../src/domain/threads/keys.ts';
import type { Bench } from '../bench.ts';
import { median } from '../statistics.ts';
import { grownTo, openThreadStore, threadOfFacts } from '../thread-store.ts';

const BUDGET_MS = 50;
const VERSIONS = 10_000;

/** Time to read old versions of a long thread. The ratio is this time divided by its budget. */
export default {
  name: 'threads-first-version',
  claim: 'less than 50 ms',
  limit: 1,
  async run({ rounds }) {
    await using store = await openThreadStore();
    const { threads, core } = store;
    const id = await threadOfFacts(threads, 100);
    await grownTo(threads, id, VERSIONS);
    await core.log.settle();
    const times: number[] = [];
    for (let round = 0; round < rounds; round++) {
      for (const at of [1, VERSIONS / 2 + round]) {
        core.log.heads.forget(bareRoot(id));
        const started = performance.now();
        await threads.state(id, { at });
        times.push(performance.now() - started);
      }
    }
    const measured = median(times);
    const detail = 'reading v1, and one half way, of 10 000 versions, with nothing in memory; budget: 50 ms';
    return { measured, baseline: BUDGET_MS, unit: 'ms', ratio: measured / BUDGET_MS, detail };
  },
} satisfies Bench;
