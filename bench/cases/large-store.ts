import type { Bench } from '../bench.ts';
import { askEverything } from '../busy-store.ts';
import { compareRequests } from '../compare-requests.ts';
import { storeOf } from '../large-store.ts';
import { PAYLOAD_BYTES } from '../pointers.ts';
import { startRelayOn } from '../servers.ts';
import { summarise } from '../statistics.ts';

const MANY = 1_000_000;
const FEW = 100;
const MOST_SLOWER = 1.2;
const BUDGET_START_MS = 1000;
const BUDGET_REQUEST_MS = 250;

/**
 * Compares a push into a large and a small store, and measures how long the relay takes to start on the large store.
 * Each of the two results is divided by its budget; the ratio is the larger quotient.
 */
const pushAndStart = {
  name: 'large-store',
  claim: 'a push at most 1.2×, a start in less than 1 s',
  limit: 1,
  async run({ rounds }) {
    const home = await storeOf(MANY);
    const began = performance.now();
    await using many = await startRelayOn(home);
    const start = performance.now() - began;
    await using few = await startRelayOn(await storeOf(FEW));
    const result = await compareRequests({
      ours: { url: `${many.url}/push`, bodyBytes: PAYLOAD_BYTES },
      baseline: { url: `${few.url}/push`, bodyBytes: PAYLOAD_BYTES },
      rounds,
      requests: 20,
      atOnce: 1,
    });
    const summary = summarise(result, 'ms', '');
    const detail =
      `a push of 125 KB into a store of 1 000 000 pointers; into one of ${FEW}: ${summary.ratio.toFixed(2)} of ` +
      `${MOST_SLOWER}×; its start ${Math.round(start)} of ${BUDGET_START_MS} ms`;
    return { ...summary, ratio: Math.max(summary.ratio / MOST_SLOWER, start / BUDGET_START_MS), detail };
  },
} satisfies Bench;

/** The ratio is the time of the slowest request divided by the budget for a request. */
const sideBySide = {
  name: 'large-store-requests',
  claim: 'no request over 250 ms while all kinds of requests run',
  limit: 1,
  async run() {
    await using relay = await startRelayOn(await storeOf(MANY));
    const all = await askEverything(relay.url);
    const slowest = all.reduce((a, b) => (b.most > a.most ? b : a));
    const ms = (value: number) => `${Math.round(value)} ms`;
    return {
      ...{ measured: slowest.most, baseline: BUDGET_REQUEST_MS, unit: 'ms' },
      ratio: slowest.most / BUDGET_REQUEST_MS,
      detail: `the slowest request (${slowest.kind}) to a store of 1 000 000 pointers; the budget`,
      more: all
        .map(({ kind, requests, first, p50, most }) =>
          [
            `${kind}: ${requests} requests`,
            `first ${ms(first)}`,
            `p50 ${ms(p50)}`,
            `longest ${ms(most)}`,
          ].join(', '),
        )
        .join('\n'),
    };
  },
} satisfies Bench;

export default [pushAndStart, sideBySide];
