import { Audience } from '../audience.ts';
import type { Bench } from '../bench.ts';
import { startBareSockets, startRelay } from '../servers.ts';
import { type Round, summarise } from '../statistics.ts';

const SUBSCRIBERS = 1000;
const WARMUPS = 30;

export default {
  name: 'channels-fan-out',
  claim: 'at most 1.5×',
  limit: 1.5,
  async run({ rounds }) {
    await using relay = await startRelay();
    await using bare = await startBareSockets();
    using ours = new Audience(relay.url, 'fan-out');
    using theirs = new Audience(bare.url, 'fan-out');
    await ours.grow(SUBSCRIBERS);
    await theirs.grow(SUBSCRIBERS);
    const measured: Round[] = [];
    for (let round = -WARMUPS; round < rounds; round++) {
      // First one, then the other, so that neither always comes second.
      const early = round % 2 === 0 ? await ours.push() : 0;
      const baseline = await theirs.push();
      const result = { ours: early || (await ours.push()), baseline };
      if (round >= 0) measured.push(result);
    }
    return summarise(
      measured,
      'ms',
      'one durable push until the last of 1 000 sockets has it; bare ws: the same',
    );
  },
} satisfies Bench;
