import { processorMs } from './processes.ts';
import type { Round } from './statistics.ts';

/** Result of a block of requests: its time or rate, and the CPU time per request if it was measured. */
export interface Took {
  readonly figure: number;
  readonly work?: number;
}

export interface Rounds {
  readonly rounds: number;
  readonly warmups: number;
  /** Maximum duration of the warm-up in ms. */
  readonly warmupMs?: number;
}

/** Sends a block of requests to a server. If its process id is given, CPU time is measured too. */
export async function blockOf(
  requests: number,
  pid: number | undefined,
  measure: () => Promise<number>,
): Promise<Took> {
  if (pid === undefined) return { figure: await measure() };
  const before = processorMs(pid);
  const figure = await measure();
  return { figure, work: (processorMs(pid) - before) / requests };
}

/** Measures the relay and the baseline in rounds. In every second round, the baseline is measured first. */
export async function inTurn(
  ours: () => Promise<Took>,
  baseline: () => Promise<Took>,
  { rounds, warmups, warmupMs = Number.POSITIVE_INFINITY }: Rounds,
): Promise<Round[]> {
  // Warm up first and discard the results: the JIT compiler and the caches must settle.
  const warm = performance.now() + warmupMs;
  for (let i = 0; i < warmups && (i === 0 || performance.now() < warm); i++) {
    await ours();
    await baseline();
  }
  const measured: Round[] = [];
  for (let i = 0; i < rounds; i++) {
    const early = i % 2 === 0 ? await ours() : null;
    const theirs = await baseline();
    measured.push(roundOf(early ?? (await ours()), theirs));
  }
  return measured;
}

function roundOf(ours: Took, baseline: Took): Round {
  const round = { ours: ours.figure, baseline: baseline.figure };
  if (ours.work === undefined || baseline.work === undefined) return round;
  return { ...round, work: { ours: ours.work, baseline: baseline.work } };
}
