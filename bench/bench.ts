/** One thing worth measuring. A file in bench/cases has one of these, or several, as its default export. */
export interface Bench {
  readonly name: string;
  /** What is claimed, in words: `at most 2×`; null where the figure is for information only. */
  readonly claim: string | null;
  /** The ratio above which the claim is broken. */
  readonly limit: number | null;
  run(scale: Scale): Promise<Measured | Skipped>;
}

/** How long to measure. A quick look takes fewer rounds, and its figures are worth less. */
export interface Scale {
  readonly rounds: number;
}

export interface Measured {
  /** Of ours and of the baseline: the median over the rounds. */
  readonly measured: number;
  readonly baseline: number;
  readonly unit: 'ms' | '/s' | 'MB' | 'tokens';
  /** How many times slower ours is: the median over the rounds of the ratio within a round. */
  readonly ratio: number;
  /** Between which ratios the middle half of the rounds lies. */
  readonly spread?: readonly [number, number];
  /** What was compared, for a reader of the table. */
  readonly detail: string;
  /** Processor time of both servers for a request, where it was looked at. */
  readonly work?: Measured;
  /** What of the claim does not hold, where the ratio is not all of it. */
  readonly broken?: string;
  /** The figures one by one, below the table. */
  readonly more?: string;
}

/** Why there is nothing to compare with on this machine, or how it failed. */
export interface Skipped {
  readonly skipped: string;
  readonly failed?: true;
}

/** What a limit claims, in words. A rate that is at most 0.83 times slower is at least 1.2 times as high. */
export function claimOf(limit: number | null): string | null {
  if (limit === null) return null;
  return limit < 1 ? `at least ${(1 / limit).toFixed(1)} times as many` : `at most ${limit}×`;
}
