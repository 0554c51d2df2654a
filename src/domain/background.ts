/**
 * Work that nobody waits for: it comes after a commit, can be redone from it, and must be finished before the store is
 * closed. What fails in here has failed silently by design, so nothing may depend on it.
 */
export class Background {
  readonly #running = new Set<Promise<unknown>>();

  run(work: () => Promise<unknown>): void {
    const running: Promise<unknown> = work()
      .catch(() => {})
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Resolves once nothing is running, including what was begun meanwhile. */
  async settle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
