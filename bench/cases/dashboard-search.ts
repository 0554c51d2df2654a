import { httpRelay } from '../../src/sdk/http-relay.ts';
import type { Bench } from '../bench.ts';
import { storeOf } from '../large-store.ts';
import { startRelayOn } from '../servers.ts';
import { median } from '../statistics.ts';

const POINTERS = 100_000;
const BUDGET_MS = 200;

/** Searches in the dashboard for a word that no pointer contains, so that the search reads all pointers. */
export default {
  name: 'dashboard-search',
  claim: 'a search of 100 000 pointers in less than 200 ms',
  limit: 1,
  async run({ rounds }) {
    await using server = await startRelayOn(await storeOf(POINTERS));
    const relay = httpRelay({ baseUrl: server.url });
    const search = async (q: string) => {
      const began = performance.now();
      const { pointers } = await relay.pointers.list({ q, limit: 8 });
      return { took: performance.now() - began, found: pointers.length };
    };
    const first = await search('absent');
    const times: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const { took, found } = await search('absent');
      if (found > 0) throw new Error('The search found a word that no pointer has.');
      times.push(took);
    }
    const common = await search('report');
    const measured = median(times);
    const detail = `a word that no pointer has; the first search ${Math.round(first.took)} ms, a common word ${Math.round(common.took)} ms`;
    return { measured, baseline: BUDGET_MS, unit: 'ms', ratio: measured / BUDGET_MS, detail };
  },
} satisfies Bench;
