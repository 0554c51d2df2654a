import type { Bench } from '../bench.ts';
import { compareRequests } from '../compare-requests.ts';
import { PAYLOAD_BYTES } from '../pointers.ts';
import { startBare, startRelay } from '../servers.ts';
import { summarise } from '../statistics.ts';

export default {
  name: 'push-json',
  claim: 'at most 1.5×',
  limit: 1.5,
  async run({ rounds }) {
    await using relay = await startRelay();
    await using bare = await startBare();
    const result = await compareRequests({
      ours: { url: `${relay.url}/push`, bodyBytes: PAYLOAD_BYTES, asJson: true },
      baseline: { url: `${bare.url}/push`, bodyBytes: PAYLOAD_BYTES },
      rounds,
      requests: 40,
      atOnce: 1,
    });
    return summarise(
      result,
      'ms',
      'a durable push of 125 KB in a JSON envelope; bare Node: write and fdatasync of the bytes alone',
    );
  },
} satisfies Bench;
