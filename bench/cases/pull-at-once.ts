import type { Bench } from '../bench.ts';
import { compareRequests } from '../compare-requests.ts';
import { PAYLOAD_BYTES, pushOne } from '../pointers.ts';
import { startBare, startRelay } from '../servers.ts';
import { summarise } from '../statistics.ts';

export default {
  name: 'pull-at-once',
  claim: null,
  limit: null,
  async run({ rounds }) {
    await using relay = await startRelay();
    await using bare = await startBare();
    const result = await compareRequests({
      ours: { url: `${await pushOne(relay.url)}?raw=1`, answerBytes: PAYLOAD_BYTES },
      baseline: { url: `${bare.url}/bytes/${PAYLOAD_BYTES}`, answerBytes: PAYLOAD_BYTES },
      rounds: Math.ceil(rounds / 2),
      requests: 800,
      atOnce: 16,
    });
    return summarise(result, '/s', 'raw pulls of 125 KB, 16 at once; bare Node as above');
  },
} satisfies Bench;
