import { ContextRelay } from '../../src/sdk/context-relay.ts';
import type { Bench } from '../bench.ts';
import { PAYLOAD_BYTES } from '../pointers.ts';
import { startRelay } from '../servers.ts';
import { type Round, summarise } from '../statistics.ts';

const WARMUPS = 30;

export default {
  name: 'encrypted-round-trip',
  claim: null,
  limit: null,
  async run({ rounds }) {
    await using server = await startRelay();
    const relay = new ContextRelay({ baseUrl: server.url });
    const data = 'All happy relays are alike.\n'.repeat(PAYLOAD_BYTES / 28);
    const time = async (encrypted: boolean) => {
      const began = performance.now();
      const text = await relay.pull(await relay.push(data, { encrypted }));
      if (text !== data) throw new Error('What came back is not what was pushed.');
      return performance.now() - began;
    };
    const measured: Round[] = [];
    for (let round = -WARMUPS; round < rounds * 5; round++) {
      const pair = { ours: await time(true), baseline: await time(false) };
      if (round >= 0) measured.push(pair);
    }
    return summarise(measured, 'ms', 'push and pull of 125 KB by the SDK, encrypted; the same in the clear');
  },
} satisfies Bench;
