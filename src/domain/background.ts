import type { Engine } from '../kernel/engine.ts';

/**
 * Runs work that no caller waits for. The work follows a commit and can be repeated from the committed
 * data. Its failures are ignored, so nothing may depend on its result. `run` starts the work at once. If
 * the process could end with the request, the engine keeps the process alive until the work has ended. Call
 * `settle` before the store is closed.
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

  /** Resolves when no work is running any more. It also waits for work that is started meanwhile. */
  async settle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
