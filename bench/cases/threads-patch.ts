import type { Bench } from '../bench.ts';
import { type Round, summarise } from '../statistics.ts';
import { grownTo, openThreadStore, threadOfFacts, timedPatch } from '../thread-store.ts';

const LATE = 10_000;
const EARLY = 10;
/** Number of patches per round. A single patch is too short to stand out from the noise. */
const PATCHES = 20;

export default {
  name: 'threads-patch',
  claim: 'at most 1.2×',
  limit: 1.2,
  async run({ rounds }) {
    await using store = await openThreadStore();
    const { threads, core } = store;
    const late = await threadOfFacts(threads, 100);
    await grownTo(threads, late, LATE);
    const measured: Round[] = [];
    for (let round = 0; round < rounds; round++) {
      const early = await threadOfFacts(threads, 100);
      await grownTo(threads, early, EARLY);
      await core.log.settle();
      const sum = { ours: 0, baseline: 0 };
      for (let i = 0; i < PATCHES; i++) {
        sum.ours += await timedPatch(threads, late, LATE + round * PATCHES + i);
        sum.baseline += await timedPatch(threads, early, EARLY + i);
      }
      await core.log.settle();
      measured.push({ ours: sum.ours / PATCHES, baseline: sum.baseline / PATCHES });
    }
    return summarise(
      measured,
      'ms',
      'a patch at version 10 000; baseline: at version 10, with as large a state',
    );
  },
} satisfies Bench;
