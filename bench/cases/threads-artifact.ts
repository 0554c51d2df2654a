import type { Bench } from '../bench.ts';
import { compareRequests } from '../compare-requests.ts';
import { startRelay } from '../servers.ts';
import { summarise } from '../statistics.ts';

const BYTES = 77;

export default {
  name: 'threads-artifact',
  claim: 'at most 3×',
  limit: 3,
  async run({ rounds }) {
    await using relay = await startRelay();
    const response = await fetch(`${relay.url}/threads`, { method: 'POST', body: '{"name":"bench"}' });
    const { thread_id } = (await response.json()) as { thread_id: string };
    const result = await compareRequests({
      ours: { url: `${relay.url}/threads/${thread_id}/artifacts`, bodyBytes: BYTES },
      baseline: { url: `${relay.url}/push`, bodyBytes: BYTES },
      rounds,
      requests: 10,
      atOnce: 1,
    });
    return summarise(result, 'ms', 'an artifact of 77 bytes over HTTP; a durable push of the same');
  },
} satisfies Bench;
