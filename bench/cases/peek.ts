import type { Bench } from '../bench.ts';
import { compareRequests } from '../compare-requests.ts';
import { pushOne } from '../pointers.ts';
import { startBare, startRelay } from '../servers.ts';
import { summarise } from '../statistics.ts';

export default {
  name: 'peek',
  claim: 'at most 1.8×',
  limit: 1.8,
  async run({ rounds }) {
    await using relay = await startRelay();
    await using bare = await startBare();
    const url = (await pushOne(relay.url)).replace('/pull/', '/peek/');
    const bytes = (await (await fetch(url)).arrayBuffer()).byteLength;
    const result = await compareRequests({
      ours: { url, answerBytes: bytes },
      baseline: { url: `${bare.url}/bytes/${bytes}`, answerBytes: bytes },
      rounds,
      requests: 200,
      atOnce: 1,
    });
    return summarise(
      result,
      'ms',
      `a peek at 125 KB; bare Node: the ${bytes} bytes of its answer from memory`,
    );
  },
} satisfies Bench;
