import type { Engine } from '../kernel/engine.ts';

/**
 * Work that nobody waits for: it comes after a commit, can be redone from it, and must be finished before the store is
 * closed. What fails in here has failed silently by design, so nothing may depend on it. It begins at once; the engine
 * keeps it going where the process could end with the request.
 */
export class Background {
  readonly #defer: Engine['defer'];
  readonly #running = new Set<Promise<unknown>>();

  constructor({ engine }: { readonly engine: Pick<Engine, 'defer'> }) {
    this.#defer = (work, afterMs) => engine.defer(work, afterMs);
  }

  run(work: () => Promise<unknown>): void {
    const running: Promise<unknown> = work()
      .catch(() => {})
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
    this.#defer(() => running);
  }

  /** Resolves once nothing is running, including what was begun meanwhile. */
  async settle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
