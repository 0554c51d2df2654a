/** One benchmark. The default export of a file in bench/cases is one or several of these. */
export interface Bench {
  readonly name: string;
  /** The claim as text, such as `at most 2×`; null if the figure is informational. */
  readonly claim: string | null;
  /** The ratio above which the claim is broken. */
  readonly limit: number | null;
  run(scale: Scale): Promise<Measured | Skipped>;
}

/** Length of a measurement. A quick run has fewer rounds and less reliable figures. */
export interface Scale {
  readonly rounds: number;
}

export interface Measured {
  /** Medians over all rounds: `measured` for the relay, `baseline` for the baseline. */
  readonly measured: number;
  readonly baseline: number;
  readonly unit: 'ms' | '/s' | 'MB' | 'tokens';
  /** How many times slower the relay is: the median of the ratios of all rounds. */
  readonly ratio: number;
  /** Interquartile range of the ratios. */
  readonly spread?: readonly [number, number];
  /** Short description of the comparison, for the table. */
  readonly detail: string;
  /** Processor time per request of both servers, if it was measured. */
  readonly work?: Measured;
  /** Reason why the claim is broken, if the ratio alone does not show it. */
  readonly broken?: string;
  /** Detailed figures, printed below the table. */
  readonly more?: string;
}

/** Reason why the benchmark has no result: this machine cannot run it, or it failed. */
export interface Skipped {
  readonly skipped: string;
  readonly failed?: true;
}

/** Returns a limit as text. A limit below 1 is printed as its inverse: 0.83 as "at least 1.2 times as many". */
export function claimOf(limit: number | null): string | null {
  if (limit === null) return null;
  return limit < 1 ? `at least ${(1 / limit).toFixed(1)} times as many` : `at most ${limit}×`;
}
