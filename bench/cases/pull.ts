import type { Bench } from '../bench.ts';
import { compareRequests } from '../compare-requests.ts';
import { PAYLOAD_BYTES, pushOne } from '../pointers.ts';
import { startBare, startRelay } from '../servers.ts';
import { summarise } from '../statistics.ts';

export default {
  name: 'pull',
  claim: 'at most 1.4×',
  limit: 1.4,
  async run({ rounds }) {
    await using relay = await startRelay();
    await using bare = await startBare();
    const result = await compareRequests({
      ours: { url: `${await pushOne(relay.url)}?raw=1`, answerBytes: PAYLOAD_BYTES },
      baseline: { url: `${bare.url}/bytes/${PAYLOAD_BYTES}`, answerBytes: PAYLOAD_BYTES },
      rounds,
      requests: 150,
      atOnce: 1,
    });
    return summarise(result, 'ms', 'a raw pull of 125 KB; bare Node: as many bytes from memory');
  },
} satisfies Bench;
