/** Work that fails and defers itself again, as on a full disk, is tried so often when an engine is closed, and then given up. */
const LAST_TRIES = 10;

/** Work that nobody waits for, in an engine whose process goes on: at its time, or when the engine is closed. */
export class DeferredWork {
  readonly #waiting = new Set<() => void>();
  readonly #running = new Set<Promise<void>>();

  /** What `Engine.defer` promises, and when it is done. Without `afterMs` it begins at once. */
  defer(work: () => Promise<unknown>, afterMs = 0): Promise<void> {
    if (afterMs <= 0) return this.#run(work);
    const { promise, resolve } = Promise.withResolvers<void>();
    const begin = () => {
      clearTimeout(timer);
      this.#waiting.delete(begin);
      void this.#run(work).then(resolve);
    };
    const timer = setTimeout(begin, afterMs);
    // What is left is done when the engine is closed, so this timer need not keep the process alive.
    (timer as { unref?: () => void }).unref?.();
    this.#waiting.add(begin);
    return promise;
  }

  /** Does at once what still waits, and what is deferred by that, and resolves when it is done. */
  async settle(): Promise<void> {
    for (let tries = 0; tries < LAST_TRIES; tries++) {
      for (const begin of [...this.#waiting]) begin();
      while (this.#running.size > 0) await Promise.all(this.#running);
      if (this.#waiting.size === 0) return;
    }
  }

  #run(work: () => Promise<unknown>): Promise<void> {
    const running = silently(work).finally(() => this.#running.delete(running));
    this.#running.add(running);
    return running;
  }
}

async function silently(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch {
    // Nothing depends on it.
  }
}
