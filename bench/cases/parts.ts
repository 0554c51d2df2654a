import type { Bench } from '../bench.ts';
import { compareRequests } from '../compare-requests.ts';
import { PAYLOAD_BYTES, pushOne, sizeOf } from '../pointers.ts';
import { startBare, startRelay } from '../servers.ts';
import { summarise } from '../statistics.ts';

const PARTS = { lines: 'lines=100-140', grep: 'grep=relays&context=0', outline: 'outline=1', cost: 'cost=1' };

/**
 * Compares a partial pull with an answer of the same size that the bare server sends from memory. The relay reads the
 * whole payload and sends a small part of it.
 */
export default Object.entries(PARTS).flatMap(([part, query]) =>
  [PAYLOAD_BYTES, 5_000_000].map((bytes) => ({
    name: `part-${part}${bytes === PAYLOAD_BYTES ? '' : '-5mb'}`,
    claim: null,
    limit: null,
    async run({ rounds }) {
      await using relay = await startRelay();
      await using bare = await startBare();
      const url = `${await pushOne(relay, bytes)}?${query}`;
      const { byteLength } = await (await fetch(url)).arrayBuffer();
      const measured = await compareRequests({
        ours: { url, answerBytes: byteLength },
        baseline: { url: `${bare.url}/bytes/${byteLength}`, answerBytes: byteLength },
        rounds,
        requests: bytes === PAYLOAD_BYTES ? 40 : 5,
        atOnce: 1,
      });
      const detail = `?${query} of ${sizeOf(bytes)}; bare Node: the ${byteLength} bytes of its answer from memory`;
      return summarise(measured, 'ms', detail);
    },
  })),
) satisfies Bench[];
