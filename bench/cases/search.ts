import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Bench } from '../bench.ts';
import { peakMegabytes } from '../processes.ts';
import type { Server } from '../servers.ts';
import { healthDuring, withWatchedRelay } from '../under-attack.ts';

const MiB = 1024 * 1024;
const BUDGET_HEALTH_MS = 250;
/** Maximum CPU time in ms of one task on the event loop while searches and indexing run. */
const BUDGET_SLICE_MS = 50;
const BUDGET_INDEX_S = 25;
/** Maximum growth of the database in bytes per byte of text, for the text and its index. */
const BUDGET_GROWTH = 2;

const TEXTS = 5;
const TEXT_BYTES = 5 * MiB;
const SEARCHES = 400;
const AT_ONCE = 16;
const QUERIES = [
  'relay',
  'which pointer does the thread of an agent refer to?',
  'a b c d e f g h i j k l m n o p q r s t u v w x y z',
  'state version artifact context summary decide write read',
  'rare7123',
];
const WORDS =
  'the relay hands a pointer to another agent which reads the state and its version before it writes an artifact with context and a summary of what was decided and why so that the next one can go on'.split(
    ' ',
  );

/** Stores 25 MiB of text in five artifacts and measures the time until all of it is searchable. */
async function fill(relay: Server): Promise<{ thread: string; seconds: number; growth: number }> {
  const database = () =>
    ['relay.db', 'relay.db-wal'].reduce(
      (sum, file) => sum + (statSync(join(relay.folder, file), { throwIfNoEntry: false })?.size ?? 0),
      0,
    );
  const before = database();
  const json = { 'Content-Type': 'application/json' };
  const response = await fetch(`${relay.url}/threads`, { method: 'POST', body: '{}', headers: json });
  const { thread_id: thread } = (await response.json()) as { thread_id: string };
  const began = performance.now();
  for (let i = 0; i < TEXTS; i++) {
    const url = `${relay.url}/threads/${thread}/artifacts?name=${i}.txt`;
    const answer = await fetch(url, { method: 'POST', body: text(i) });
    if (!answer.ok) throw new Error(`An artifact was not stored: ${await answer.text()}`);
    await answer.arrayBuffer();
  }
  while ((await search(relay, thread, 'relay')).unsearched) await pause(100);
  const seconds = (performance.now() - began) / 1000;
  return { thread, seconds, growth: (database() - before) / (TEXTS * TEXT_BYTES) };
}

async function search(
  { url }: Server,
  thread: string,
  query: string,
): Promise<{ hits: unknown[]; unsearched?: unknown }> {
  const answer = await fetch(`${url}/threads/${thread}/search?q=${encodeURIComponent(query)}`);
  const body = await answer.text();
  if (!answer.ok) throw new Error(`A search failed: ${body}`);
  return JSON.parse(body);
}

/** Returns lines of shuffled words, each with one word that occurs nowhere else. */
function text(i: number): string {
  const lines: string[] = [];
  let seed = i + 1;
  for (let chars = 0, line = 0; chars < TEXT_BYTES; line++) {
    const words = Array.from({ length: 12 }, () => {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      return WORDS[seed % WORDS.length];
    });
    lines.push(`${words.join(' ')} rare${i * 100_000 + line}\n`);
    chars += lines.at(-1)!.length;
  }
  return lines.join('').slice(0, TEXT_BYTES);
}

/** Each measured value is divided by its budget. The ratio is the largest of the results. */
export default [
  {
    name: 'search-indexing',
    claim: `less than ${BUDGET_INDEX_S} s`,
    limit: 1,
    run: () =>
      withWatchedRelay(async (relay, slice) => {
        const { seconds, growth } = await fill(relay);
        const memory = Math.round(peakMegabytes(relay));
        const [loop, ms] = [slice(), seconds * 1000];
        const ratio = Math.max(seconds / BUDGET_INDEX_S, growth / BUDGET_GROWTH, loop / BUDGET_SLICE_MS);
        const detail =
          `to store 25 MiB of text in five artifacts until a search sees all of it; the database grew by ${growth.toFixed(2)} ` +
          `of ${BUDGET_GROWTH} bytes for each byte of text, the event loop was busy for ${Math.round(loop)} of ${BUDGET_SLICE_MS} ms ` +
          `of CPU at a time, the server took ${memory} MB`;
        return { measured: ms, baseline: BUDGET_INDEX_S * 1000, unit: 'ms', ratio, detail };
      }),
  },
  {
    name: 'search-health',
    claim: `less than ${BUDGET_HEALTH_MS} ms`,
    limit: 1,
    run: () =>
      withWatchedRelay(async (relay, slice) => {
        const { thread } = await fill(relay);
        let left = SEARCHES;
        const searching = Array.from({ length: AT_ONCE }, async () => {
          while (left-- > 0) await search(relay, thread, QUERIES[left % QUERIES.length]!);
        });
        const began = performance.now();
        const measured = await healthDuring(relay.url, Promise.all(searching));
        const took = (performance.now() - began) / 1000;
        const loop = slice();
        const ratio = Math.max(measured / BUDGET_HEALTH_MS, loop / BUDGET_SLICE_MS);
        const detail =
          `p99 of /health beside ${SEARCHES} searches of 25 MiB of text, ${AT_ONCE} at once, which took ${took.toFixed(1)} s; ` +
          `budget: ${BUDGET_HEALTH_MS} ms; the event loop at most ${Math.round(loop)} of ${BUDGET_SLICE_MS} ms of CPU at a time`;
        return { measured, baseline: BUDGET_HEALTH_MS, unit: 'ms', ratio, detail };
      }),
  },
] satisfies Bench[];
