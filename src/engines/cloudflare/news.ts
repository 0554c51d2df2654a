/** How long a question for new entries is held open: a Worker that was killed never takes its question back. */
const WAIT_MS = 25_000;

/** Who waits for news of the streams of an object: how each is woken, by the name that it asks under. */
export class News {
  readonly #waiting = new Map<string, Map<string, () => void>>();

  /** Until the stream has grown, the asker has given up, or for a while. */
  async wait(stream: string, asker: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting = this.#waiting.get(stream) ?? new Map();
    this.#waiting.set(stream, waiting.set(asker, resolve));
    const timer = setTimeout(resolve, WAIT_MS);
    await promise;
    clearTimeout(timer);
    waiting.delete(asker);
    if (waiting.size === 0) this.#waiting.delete(stream);
  }

  wake(stream: string): void {
    for (const wake of this.#waiting.get(stream)?.values() ?? []) wake();
  }

  giveUp(stream: string, asker: string): void {
    this.#waiting.get(stream)?.get(asker)?.();
  }
}
