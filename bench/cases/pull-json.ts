import type { Bench } from '../bench.ts';
import { compareRequests } from '../compare-requests.ts';
import { PAYLOAD_BYTES, pushOne } from '../pointers.ts';
import { startBare, startRelay } from '../servers.ts';
import { summarise } from '../statistics.ts';

export default {
  name: 'pull-json',
  claim: 'at most 1.7×',
  limit: 1.7,
  async run({ rounds }) {
    await using relay = await startRelay();
    await using bare = await startBare();
    const result = await compareRequests({
      ours: { url: await pushOne(relay.url) },
      baseline: { url: `${bare.url}/bytes/${PAYLOAD_BYTES}`, answerBytes: PAYLOAD_BYTES },
      rounds,
      requests: 150,
      atOnce: 1,
    });
    return summarise(
      result,
      'ms',
      'a pull of 125 KB as a JSON envelope; bare Node: as many bytes from memory',
    );
  },
} satisfies Bench;
