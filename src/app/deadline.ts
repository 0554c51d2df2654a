/** By when everything that was begun has to be over, though some of it hangs. */
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

  /** What the work gives, or what `late` gives where time is up first; the work is then left to itself. */
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
