import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Measured } from './bench.ts';
import { peakMegabytes } from './processes.ts';
import { type Server, startWatchedRelay, temporaryFolder } from './servers.ts';
import { percentile } from './statistics.ts';

/** Limit of the 99th percentile of `/health` during an attack, in ms. */
export const BUDGET_MS = 250;

export interface Attack {
  /** Description of the attack, for the table. */
  readonly detail: string;
  readonly budgetMb: number;
  /** Maximum CPU time in ms of one task on the event loop. */
  readonly budgetSliceMs: number;
  /** Prepares the attack. Returns a function that runs the attack and resolves when the attack has ended. */
  prepare(relay: Server): Promise<() => Promise<unknown>>;
}

/**
 * Measures a relay during an attack: latency of `/health`, memory and blocked time. Each is divided by its budget; the
 * ratio is the largest of the results.
 */
export function healthUnder({ detail, budgetMb, budgetSliceMs, prepare }: Attack): Promise<Measured> {
  return withWatchedRelay(async (relay, longestSlice) => {
    const attack = await prepare(relay);
    const measured = await healthDuring(relay.url, attack());
    const memory = peakMegabytes(relay);
    const slice = longestSlice();
    const ratio = Math.max(measured / BUDGET_MS, memory / budgetMb, slice / budgetSliceMs);
    return {
      measured,
      baseline: BUDGET_MS,
      unit: 'ms',
      ratio,
      detail:
        `p99 of /health beside ${detail}; budget: ${BUDGET_MS} ms; memory at most ${Math.round(memory)} of ${budgetMb} MB, ` +
        `the event loop at most ${Math.round(slice)} of ${budgetSliceMs} ms of CPU at a time`,
    };
  });
}

/**
 * Starts a relay and passes it to `work`. `work` also gets a function that returns the largest CPU time in ms that one
 * task has taken so far on the relay's event loop.
 */
export async function withWatchedRelay<T>(
  work: (relay: Server, longestSlice: () => number) => Promise<T>,
): Promise<T> {
  using temporary = temporaryFolder();
  const figures = join(temporary.path, 'longest');
  await using relay = await startWatchedRelay(figures);
  await pause(2_500);
  return await work(relay, () => Number(readFileSync(figures, 'utf8')));
}

/**
 * Requests `/health` until the attack ends, and at least 100 times. Returns the 99th percentile of the latency in ms.
 */
export async function healthDuring(url: string, attack: Promise<unknown>): Promise<number> {
  let done = false;
  const over = attack.finally(() => {
    done = true;
  });
  const times: number[] = [];
  while (!done || times.length < 100) {
    const began = performance.now();
    await (await fetch(`${url}/health`)).text();
    times.push(performance.now() - began);
    await pause(10);
  }
  await over;
  return percentile(times, 0.99);
}

export async function postJson(url: string, body: unknown): Promise<Response> {
  const headers = { 'Content-Type': 'application/json' };
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${url}: ${await answer.text()}`);
  return answer;
}
