/**
 * Tests assert no timings, because the bench measures speed. This test asserts the relay's CPU time per request,
 * divided by the bare server's CPU time in the same run. A busy machine delays both servers, but adds no CPU time.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compareRequests } from './compare-requests.ts';
import { bareSide, PAYLOAD_BYTES, relaySide } from './pointers.ts';
import { startBare, startRelay } from './servers.ts';
import { summarise } from './statistics.ts';

/**
 * Last measured CPU time of each request, as a multiple of the bare server's. Pushes are missing: most of their CPU time
 * is disk work of the kernel, which varies by half. The bench measures them.
 */
const HOT = [
  { verb: 'pull', form: 'raw', took: 2.4 },
  { verb: 'pull', form: 'json', took: 2.3 },
  { verb: 'peek', form: 'json', took: 1.9 },
] as const;

/** The test fails if a ratio is this many times higher than the last measured one. */
const WORSE = 1.3;
/** Number of runs. The best one counts, because disturbances only add CPU time. */
const RUNS = 5;
/**
 * Number of requests per round. It is large enough that each round includes periodic work such as garbage collection.
 */
const REQUESTS = { pull: 1_000, peek: 1_500 };

const skip = process.platform !== 'linux' && 'processor time is read from /proc';

describe('CPU time of the most frequent requests', { skip }, () => {
  for (const { took, ...hot } of HOT) {
    test(`a ${hot.verb} (${hot.form}) takes at most ${WORSE} times its last measured CPU time`, async (t) => {
      await using relay = await startRelay();
      await using bare = await startBare();
      const shape = { ...hot, bytes: PAYLOAD_BYTES, atOnce: 1 };
      const ours = await relaySide(relay, shape);
      const baseline = await bareSide(bare.url, shape, ours);
      let best = Number.POSITIVE_INFINITY;
      for (let run = 0; run < RUNS && best > took * WORSE; run++) {
        const rounds = await compareRequests({
          ours: { ...ours, pid: relay.pid },
          baseline: { ...baseline, pid: bare.pid },
          ...{ rounds: 5, warmups: 2, requests: REQUESTS[hot.verb], atOnce: 1 },
        });
        best = Math.min(best, summarise(rounds, 'ms', '').work!.ratio);
      }
      t.diagnostic(`${best.toFixed(2)} times the work of the bare server`);
      assert.ok(
        best <= took * WORSE,
        `${best.toFixed(2)} times the work of the bare server; it took ${took}`,
      );
    });
  }
});
