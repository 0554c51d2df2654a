import type { Engine } from '../kernel/engine.ts';

/**
 * Runs work that no caller waits for, after a commit. Errors are ignored, so the work must be repeatable from the
 * committed data, and nothing may depend on it. `run` starts the work immediately. If the process may end when the
 * request ends, the engine keeps the process alive until the work has ended. Call `settle` before the store is closed.
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

  /** Resolves when no work is running. It also waits for work that starts while it waits. */
  async settle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
