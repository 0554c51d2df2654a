import type { Bench } from '../bench.ts';
import { compareShape, PAYLOAD_BYTES, relaySide, type Shape } from '../pointers.ts';
import { startRedis, startRelay } from '../servers.ts';

const SHAPE = { verb: 'push', form: 'raw', bytes: PAYLOAD_BYTES, atOnce: 16 } as const satisfies Shape;

export default {
  name: 'push-16-redis',
  claim: 'at least 0.4 times as many',
  limit: 2.5,
  async run({ rounds }) {
    await using redis = await startRedis();
    if (!redis) return { skipped: 'no Redis here: apt-get install redis-server' };
    await using relay = await startRelay();
    const theirs = { url: redis.url, bodyBytes: PAYLOAD_BYTES };
    const detail = 'durable pushes of 125 KB, 16 at once; Redis: appendfsync always, SET over 16 connections';
    return await compareShape(SHAPE, await relaySide(relay, SHAPE), theirs, rounds, detail);
  },
} satisfies Bench;
