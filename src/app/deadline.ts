import { once } from 'node:events';

/** One deadline for several operations, any of which may hang. */
export class Deadline {
  readonly #ms: number;
  readonly signal: AbortSignal;

  constructor(ms: number) {
    this.#ms = ms;
    this.signal = AbortSignal.timeout(ms);
  }

  get seconds(): number {
    return Math.round(this.#ms / 1000);
  }

  /**
   * Returns the result of `work`, or the result of `late` if the deadline passes first. The work then
   * continues unobserved.
   */
  async race<T>(work: Promise<T>, late: () => T): Promise<T> {
    work.catch(() => {});
    if (this.signal.aborted) return late();
    return Promise.race([work, once(this.signal, 'abort').then(late)]);
  }
}
