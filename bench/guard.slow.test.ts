/**
 * Speed is the bench's business, and no test asserts a timing. This one asserts work: the processor time that a server takes for
 * a request, as a ratio to what the bare server takes for the least of the same, in the same run. A busy machine has both
 * wait, and does not give either more to do.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compareRequests } from './compare-requests.ts';
import { bareSide, PAYLOAD_BYTES, relaySide } from './pointers.ts';
import { startBare, startRelay } from './servers.ts';
import { summarise } from './statistics.ts';

/**
 * How many times the work of the bare server each took when it was last looked at, without a cache of records: with the one that
 * was removed a raw pull took 1.9, a peek the same. What a push takes is for the most part work of
 * the system for its disk, which differs by half from one moment to the next; the bench has it.
 */
const HOT = [
  { verb: 'pull', form: 'raw', took: 2.4 },
  { verb: 'pull', form: 'json', took: 2.3 },
  { verb: 'peek', form: 'json', took: 1.9 },
] as const;

/** A regression of this much fails. */
const WORSE = 1.3;
/** What disturbs a run adds work and takes none away, so the best of a few counts. */
const RUNS = 5;
/** Enough that what is done now and then, such as collecting garbage, is in every round. */
const REQUESTS = { pull: 1_000, peek: 1_500 };

const skip = process.platform !== 'linux' && 'processor time is read from /proc';

describe('the work of the hot paths', { skip }, () => {
  for (const { took, ...hot } of HOT) {
    test(`a ${hot.verb} (${hot.form}) takes no more than ${WORSE} times the work that it took`, async (t) => {
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
