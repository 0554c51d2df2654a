import { Audience } from '../audience.ts';
import { type Bench, claimOf } from '../bench.ts';
import { compareAudiences } from '../fan-out.ts';
import { startBareSockets, startRelay } from '../servers.ts';

/**
 * Limits by number of sockets; null means informational. With few sockets, the durable write dominates, which the bare
 * server omits.
 */
const LIMITS = { 1: null, 100: null, 1000: 1.2, 5000: 1.2 };

export default Object.entries(LIMITS).map(([subscribers, limit]) => ({
  name: `fan-out-${subscribers}`,
  claim: claimOf(limit),
  limit,
  async run({ rounds }) {
    await using relay = await startRelay();
    await using bare = await startBareSockets();
    using ours = new Audience(relay, 'fan-out');
    using theirs = new Audience(bare, 'fan-out');
    const detail = `one durable push until the last of ${subscribers} sockets has it; bare ws: the same from memory`;
    return await compareAudiences(ours, theirs, { subscribers: Number(subscribers), rounds, detail });
  },
})) satisfies Bench[];
