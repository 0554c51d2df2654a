import { RelayError } from './errors.ts';

/**
 * Counts the steps of a computation whose length a caller controls. Throws `too_costly` if there are more steps than
 * a limit. One step is about the work of copying one array item, a few nanoseconds. Unlike a timeout, a step limit
 * gives equal results on all machines.
 */
export class WorkMeter {
  spent = 0;
  readonly #limit: number;
  readonly #hint: string | undefined;
  readonly #total: WorkMeter | undefined;

  /** `total` is another meter that counts these steps too. It limits a computation that consists of several parts. */
  constructor(limit = Number.POSITIVE_INFINITY, hint?: string, total?: WorkMeter) {
    this.#limit = limit;
    this.#hint = hint;
    this.#total = total;
  }

  /** Counts steps. Call it before you do the work. */
  spend(steps: number): void {
    this.spent += steps;
    if (this.spent > this.#limit) throw new RelayError('too_costly', { what: 'work', hint: this.#hint });
    this.#total?.spend(steps);
  }
}
