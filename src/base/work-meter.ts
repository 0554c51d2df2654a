import { RelayError } from './errors.ts';

/**
 * Counts the steps of a computation that a caller can make long, and refuses with `too_costly` beyond a limit. A step is about what it takes
 * to copy one item of an array: a few nanoseconds. Unlike a time limit it gives the same answer on every machine.
 */
export class WorkMeter {
  spent = 0;
  readonly #limit: number;
  readonly #hint: string | undefined;
  readonly #whole: WorkMeter | undefined;

  /** The steps are also spent on the meter of the `whole` that this is a part of. */
  constructor(limit = Number.POSITIVE_INFINITY, hint?: string, whole?: WorkMeter) {
    this.#limit = limit;
    this.#hint = hint;
    this.#whole = whole;
  }

  /** Called before the work is done. */
  spend(steps: number): void {
    this.spent += steps;
    if (this.spent > this.#limit) throw new RelayError('too_costly', { what: 'work', hint: this.#hint });
    this.#whole?.spend(steps);
  }
}
