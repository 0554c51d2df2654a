import type { Bench } from '../bench.ts';
import { type Round, summarise } from '../statistics.ts';
import { openThreadStore, type ThreadStore, threadOfFacts, timedPatch } from '../thread-store.ts';

const READS = 10;

export default {
  name: 'threads-header',
  claim: 'at most 1.3×',
  limit: 1.3,
  async run({ rounds }) {
    await using store = await openThreadStore();
    const many = await threadOfFacts(store.threads, 10_000);
    const few = await threadOfFacts(store.threads, 100);
    const measured: Round[] = [];
    for (let round = -3; round < rounds; round++) {
      const sum = { ours: 0, baseline: 0 };
      for (let i = 0; i < READS; i++) {
        sum.ours += await freshHeader(store, many, round * READS + i);
        sum.baseline += await freshHeader(store, few, round * READS + i);
      }
      if (round >= 0) measured.push({ ours: sum.ours / READS, baseline: sum.baseline / READS });
    }
    return summarise(measured, 'ms', 'a header worked out anew, of 10 000 facts; baseline: of 100');
  },
} satisfies Bench;

/** Returns the time in ms to compute a header after a change of the state. The change itself is not measured. */
async function freshHeader({ threads, core }: ThreadStore, id: string, round: number): Promise<number> {
  await timedPatch(threads, id, Math.abs(round));
  await core.log.settle();
  // Wait a moment for garbage collection after the change.
  await new Promise((resolve) => setTimeout(resolve, 5));
  const started = performance.now();
  await threads.header(id);
  return performance.now() - started;
}
