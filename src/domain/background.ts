import type { Engine } from '../kernel/engine.ts';

/**
 * Runs work that nobody waits for. It comes after a commit, can be redone from it, and must finish before the store is
 * closed. Failures are silent, so nothing may depend on it. It starts at once; the engine keeps the process alive if
 * it could end with the request.
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

  /** Resolves when nothing is running, including work started meanwhile. */
  async settle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
