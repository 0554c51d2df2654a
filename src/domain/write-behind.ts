import type { Engine } from '../kernel/engine.ts';

export interface WriteBehindOptions<T> {
  /**
   * Time in ms between the first update and the write. Updates that arrive in this time are written together.
   */
  readonly delayMs: number;
  /** Maximum number of keys with waiting updates. Updates of further keys are dropped to limit memory. */
  readonly most: number;
  merge(older: T, newer: T): T;
  write(key: string, value: T): Promise<unknown>;
}

/**
 * Collects updates that no caller waits for. Updates with the same key are merged in memory and written in a
 * batch shortly afterwards. A crash loses the updates that are still in memory. So this is used for figures
 * and receipts, which may be too low, but not for quotas. An update whose write fails is retried with the
 * next batch.
 */
export class WriteBehind<T> {
  readonly #engine: Pick<Engine, 'defer'>;
  readonly #o: WriteBehindOptions<T>;
  #waiting = new Map<string, T>();
  #isDue = false;
  #writing: Promise<void> = Promise.resolve();

  constructor(engine: Pick<Engine, 'defer'>, o: WriteBehindOptions<T>) {
    this.#engine = engine;
    this.#o = o;
  }

  note(key: string, value: T): void {
    const older = this.#waiting.get(key);
    if (older === undefined && this.#waiting.size >= this.#o.most) return;
    this.#waiting.set(key, older === undefined ? value : this.#o.merge(older, value));
    this.#schedule();
  }

  /**
   * Starts all waiting writes in the same tick, so that an engine with group commit commits them together.
   * Never rejects.
   */
  flush(): Promise<void> {
    this.#isDue = false;
    this.#writing = this.#writing.then(async () => {
      const taken = this.#waiting;
      this.#waiting = new Map();
      await Promise.all(Array.from(taken, ([key, value]) => this.#write(key, value)));
    });
    return this.#writing;
  }

  async #write(key: string, value: T): Promise<void> {
    try {
      await this.#o.write(key, value);
    } catch {
      const newer = this.#waiting.get(key);
      this.#waiting.set(key, newer === undefined ? value : this.#o.merge(value, newer));
      this.#schedule();
    }
  }

  #schedule(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#engine.defer(() => this.flush(), this.#o.delayMs);
  }
}
