import type { Bench } from '../bench.ts';
import { compareRequests } from '../compare-requests.ts';
import { PAYLOAD_BYTES } from '../pointers.ts';
import { startBare, startRelay } from '../servers.ts';
import { summarise } from '../statistics.ts';

export default {
  name: 'push-at-once',
  claim: 'at least 1.2 times as many',
  limit: 0.83,
  async run({ rounds }) {
    await using relay = await startRelay();
    await using bare = await startBare();
    const result = await compareRequests({
      ours: { url: `${relay.url}/push`, bodyBytes: PAYLOAD_BYTES },
      baseline: { url: `${bare.url}/push`, bodyBytes: PAYLOAD_BYTES },
      rounds: Math.ceil(rounds / 2),
      requests: 160,
      atOnce: 16,
    });
    return summarise(result, '/s', 'durable pushes of 125 KB, 16 at once; bare Node as above');
  },
} satisfies Bench;
