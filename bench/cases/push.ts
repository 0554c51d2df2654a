import type { Bench } from '../bench.ts';
import { compareRequests } from '../compare-requests.ts';
import { PAYLOAD_BYTES } from '../pointers.ts';
import { startBare, startRelay } from '../servers.ts';
import { summarise } from '../statistics.ts';

export default {
  name: 'push',
  claim: 'at most 1.2×',
  limit: 1.2,
  async run({ rounds }) {
    await using relay = await startRelay();
    await using bare = await startBare();
    const result = await compareRequests({
      ours: { url: `${relay.url}/push`, bodyBytes: PAYLOAD_BYTES },
      baseline: { url: `${bare.url}/push`, bodyBytes: PAYLOAD_BYTES },
      rounds,
      requests: 40,
      atOnce: 1,
    });
    return summarise(
      result,
      'ms',
      'a durable push of 125 KB; bare Node: write and fdatasync of the same bytes',
    );
  },
} satisfies Bench;
