import type { Bench } from '../bench.ts';
import { makeKeys, runLoad } from '../load.ts';
import { RELAY, startRelay } from '../servers.ts';
import { percentile, type Round, summarise } from '../statistics.ts';

const POLITE = { clients: 1, ms: 3_000, pauseMs: 20, bodyBytes: 10_000 };
const GREEDY = { clients: 32, ms: 4_000, pauseMs: 0, bodyBytes: 10_000 };

export default {
  name: 'load-polite',
  claim: 'at most 2×',
  limit: 2,
  async run({ rounds }) {
    await using relay = await startRelay('--auth');
    const [polite, greedy] = await makeKeys([process.execPath, RELAY], relay.folder, ['polite', 'greedy']);
    const { url } = relay;
    const p95 = async () => percentile((await runLoad({ ...POLITE, url, keys: [polite!] })).times, 0.95);
    const beside = async () => {
      const load = runLoad({ ...GREEDY, url, keys: [greedy!] });
      await new Promise((resolve) => setTimeout(resolve, 500));
      const measured = await p95();
      await load;
      return measured;
    };
    await p95();
    const results: Round[] = [];
    for (let i = 0; i < Math.max(3, Math.ceil(rounds / 4)); i++) {
      const baseline = await p95();
      results.push({ ours: await beside(), baseline });
    }
    return summarise(
      results,
      'ms',
      'p95 of a client that waits between requests, beside 32 that do not; alone',
    );
  },
} satisfies Bench;
