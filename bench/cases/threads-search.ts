import type { Artifact } from '../../src/contract/threads.ts';
import type { Bench } from '../bench.ts';
import { median } from '../statistics.ts';
import { openThreadStore } from '../thread-store.ts';

const BUDGET_MS = 20;
const ARTIFACTS = 10_000;
const QUERIES = ['relay', 'pointer state', 'version artifact', 'rare7123', 'agent contex'];

const WORDS =
  'the relay hands a pointer to another agent which reads the state and its version before it writes an artifact with context and a summary of what was decided and why so that the next one can go on'.split(
    ' ',
  );

/** Time of a search in 10 000 artifacts. The ratio is this time divided by its budget. */
export default {
  name: 'threads-search',
  claim: 'less than 20 ms',
  limit: 1,
  async run({ rounds }) {
    await using store = await openThreadStore();
    const { threads, core } = store;
    const { thread_id } = await threads.create();
    for (let i = 0; i < ARTIFACTS; i++) {
      const artifact = {
        ref: i.toString(16).padStart(26, '0'),
        thread_id,
        name: `note-${i}.txt`,
        type: 'text',
      };
      await core.log.index.putShort('local', artifact as Artifact, text(i));
    }
    const times: number[] = [];
    for (let round = -2; round < rounds; round++) {
      for (const query of QUERIES) {
        const started = performance.now();
        const { hits } = await threads.search(thread_id, query);
        if (round >= 0) times.push(performance.now() - started);
        if (hits.length === 0) throw new Error(`Nothing was found for "${query}".`);
      }
    }
    const measured = median(times);
    const detail = 'a search of 10 000 artifacts of about 100 words each; budget: 20 ms';
    return { measured, baseline: BUDGET_MS, unit: 'ms', ratio: measured / BUDGET_MS, detail };
  },
} satisfies Bench;

/** Returns about a hundred shuffled words and one that occurs nowhere else. */
function text(i: number): string {
  let seed = i + 1;
  const words = Array.from({ length: 100 }, () => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return WORDS[seed % WORDS.length];
  });
  return `${words.join(' ')} rare${i}`;
}
