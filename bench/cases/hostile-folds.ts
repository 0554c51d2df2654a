import type { Bench } from '../bench.ts';
import type { Server } from '../servers.ts';
import { healthUnder, postJson } from '../under-attack.ts';

const FACTS = 4_900;
const PATCHES = 150;
const MOVES = 2_000;
const AT_ONCE = 20;

/** Creates a thread within all limits whose log once took 12 to 19 s to fold. */
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
        return () =>
          Promise.all(
            // On a busy machine, the server closes a connection of the attacker that waits longer than two minutes.
            Array.from({ length: AT_ONCE }, (_, i) =>
              asks[i % asks.length]!()
                .then((answer) => answer.arrayBuffer())
                .catch(() => null),
            ),
          );
      },
    }),
} satisfies Bench;
