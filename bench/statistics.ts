import type { Measured } from './bench.ts';

/** One round: the relay and the baseline are measured right after each other, so conditions are the same. */
export interface Round {
  readonly ours: number;
  readonly baseline: number;
  /** CPU time of both servers per request in ms, if it was measured. */
  readonly work?: Round;
}

export function median(values: readonly number[]): number {
  if (values.length === 0) throw new Error('There is no median of nothing.');
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle]!;
  return sorted.length % 2 === 1 ? upper : (sorted[middle - 1]! + upper) / 2;
}

export function percentile(values: readonly number[], share: number): number {
  if (values.length === 0) throw new Error('There is nothing to take a percentile of.');
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
}

/** Summarises rounds of durations or of rates. In both cases the ratio means "times slower". */
export function summarise(
  rounds: readonly Round[],
  unit: Measured['unit'],
  detail: string,
): Measured & Required<Pick<Measured, 'spread'>> {
  const slower = ({ ours, baseline }: Round) => (unit === '/s' ? baseline / ours : ours / baseline);
  const ratios = rounds.map(slower);
  const work = rounds.flatMap((round) => round.work ?? []);
  return {
    measured: median(rounds.map((round) => round.ours)),
    baseline: median(rounds.map((round) => round.baseline)),
    unit,
    ratio: median(ratios),
    spread: [percentile(ratios, 0.25), percentile(ratios, 0.75)],
    detail,
    ...(work.length > 0 && { work: summarise(work, 'ms', detail) }),
  };
}
