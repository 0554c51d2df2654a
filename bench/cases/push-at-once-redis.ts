import type { Bench } from '../bench.ts';
import { compareRequests } from '../compare-requests.ts';
import { PAYLOAD_BYTES } from '../pointers.ts';
import { startRedis, startRelay } from '../servers.ts';
import { summarise } from '../statistics.ts';

export default {
  name: 'push-at-once-redis',
  claim: 'at least 0.4 times as many',
  limit: 2.5,
  async run({ rounds }) {
    await using redis = await startRedis();
    if (!redis) return { skipped: 'no Redis here: apt-get install redis-server' };
    await using relay = await startRelay();
    const result = await compareRequests({
      ours: { url: `${relay.url}/push`, bodyBytes: PAYLOAD_BYTES },
      baseline: { url: redis.url, bodyBytes: PAYLOAD_BYTES },
      rounds: Math.ceil(rounds / 2),
      requests: 160,
      atOnce: 16,
    });
    const detail = 'durable pushes of 125 KB, 16 at once; Redis: appendfsync always, SET over 16 connections';
    return summarise(result, '/s', detail);
  },
} satisfies Bench;
