/** One thing worth measuring. A file in bench/cases has one of these as its default export. */
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
  /** What was compared, for a reader of the table. */
  readonly detail: string;
  /** What of the claim does not hold, where the ratio is not all of it. */
  readonly broken?: string;
  /** The figures one by one, below the table. */
  readonly more?: string;
}

/** Why there is nothing to compare with on this machine. */
export interface Skipped {
  readonly skipped: string;
}
