import type { Bench } from '../bench.ts';
import type { Server } from '../servers.ts';
import { healthUnder, postJson } from '../under-attack.ts';

const FACTS = 4_900;
const PATCHES = 150;
const MOVES = 2_000;
const AT_ONCE = 20;

/**
 * Creates a thread that respects all limits. An earlier version of the relay took 12 to 19 s to compute the thread's
 * state from its log.
 */
async function costlyThread({ url }: Server): Promise<string> {
  const { thread_id } = (await (await postJson(`${url}/threads`, {})).json()) as { thread_id: string };
  const patch = `${url}/threads/${thread_id}/state/patch`;
  const value = Array.from({ length: FACTS }, (_, i) => ({ id: `f${i}`, key: 'k', value: 'v'.repeat(100) }));
  await (await postJson(patch, [{ op: 'replace', path: '/facts', value }])).text();
  for (let round = 0; round < PATCHES; round++) {
    const ops = Array.from({ length: MOVES }, (_, i) => ({
      op: 'move',
      from: `/facts/${(i * 7 + round) % FACTS}`,
      path: `/facts/${(i * 13 + round) % FACTS}`,
    }));
    await (await postJson(patch, ops)).text();
  }
  return thread_id;
}

/** Minimum number of requests for which the relay computes the state. A busy server may reject the others with 503. */
const MIN_FOLDS = 5;
/** Statuses of answers for which the relay computed the state: 200, or 422 if computing it was too costly. */
const FOLDED: ReadonlySet<number> = new Set([200, 422]);
const RESETS: ReadonlySet<unknown> = new Set(['ECONNRESET', 'UND_ERR_SOCKET']);

/** Returns the status of an answer after reading all of it, or 0 if the server closed the connection. */
async function statusOf(request: Promise<Response>): Promise<number> {
  try {
    const answer = await request;
    await answer.arrayBuffer();
    return answer.status;
  } catch (error) {
    if (RESETS.has(((error as Error).cause as { code?: unknown } | undefined)?.code)) return 0;
    throw error;
  }
}

export default {
  name: 'hostile-folds',
  claim: 'less than 250 ms',
  limit: 1,
  run: () =>
    healthUnder({
      detail: `${AT_ONCE} requests at once for the blame, diffs, replays, old states and imports of a thread of ${FACTS} facts and ${PATCHES} patches of ${MOVES} moves`,
      budgetMb: 600,
      budgetSliceMs: 100,
      async prepare(relay) {
        const thread = await costlyThread(relay);
        const at = `${relay.url}/threads/${thread}`;
        const bundle = await (await fetch(`${at}/export`)).bytes();
        const asks = [
          () => fetch(`${at}/state/blame`),
          () => fetch(`${at}/state/diff?from=v1`),
          () => fetch(`${at}/replay`, { method: 'POST' }),
          () => fetch(`${at}/state?at=v75`),
          () => fetch(`${relay.url}/threads/import`, { method: 'POST', body: bundle }),
        ];
        return async () => {
          const requests = Array.from({ length: AT_ONCE }, (_, i) => statusOf(asks[i % asks.length]!()));
          const statuses = await Promise.all(requests);
          const folds = statuses.filter((status) => FOLDED.has(status)).length;
          if (folds < MIN_FOLDS) throw new Error(`the attack did not work: statuses ${statuses.join(', ')}`);
        };
      },
    }),
} satisfies Bench;
