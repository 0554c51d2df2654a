import { processorMs } from './processes.ts';
import type { Round } from './statistics.ts';

/** What a block of requests took: its time or rate, and where it is looked at, the processor time of the server for one request. */
export interface Took {
  readonly figure: number;
  readonly work?: number;
}

export interface Rounds {
  readonly rounds: number;
  readonly warmups: number;
  /** Warming up ends after so long, too. */
  readonly warmupMs?: number;
}

/** A block of so many requests to a server, whose process is given where its processor time is looked at too. */
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

/** Measures ours and the baseline in turn, so that neither always comes second. */
export async function inTurn(
  ours: () => Promise<Took>,
  baseline: () => Promise<Took>,
  { rounds, warmups, warmupMs = Number.POSITIVE_INFINITY }: Rounds,
): Promise<Round[]> {
  // Compilers and caches settle first; what these give is thrown away.
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
