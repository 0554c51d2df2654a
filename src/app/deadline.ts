/** One time limit for several operations, because any of them may hang. */
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
   * Returns the result of `work`. If the deadline passes first, returns the result of `late`. The work then
   * continues, and its result is ignored.
   */
  async race<T>(work: Promise<T>, late: () => T): Promise<T> {
    work.catch(() => {});
    if (this.signal.aborted) return late();
    const { promise, resolve } = Promise.withResolvers<T>();
    const timeUp = () => resolve(late());
    this.signal.addEventListener('abort', timeUp, { once: true });
    try {
      return await Promise.race([work, promise]);
    } finally {
      this.signal.removeEventListener('abort', timeUp);
    }
  }
}
