/** Lets so many work at once; the others wait in the order they came. */
export class Slots {
  readonly size: number;
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(size: number) {
    this.size = size;
    this.#free = size;
  }

  /** False when the signal came first. */
  take(signal?: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const stop = () => {
        this.#waiting.delete(go);
        resolve(false);
      };
      const go = () => {
        signal?.removeEventListener('abort', stop);
        resolve(true);
      };
      if (signal?.aborted) return stop();
      if (this.#free > 0) {
        this.#free--;
        return go();
      }
      this.#waiting.add(go);
      signal?.addEventListener('abort', stop);
    });
  }

  /** The slot goes from hand to hand, so that nobody slips in between. */
  free(): void {
    const [next] = this.#waiting;
    if (!next) this.#free++;
    else {
      this.#waiting.delete(next);
      next();
    }
  }
}
