import type { Engine } from '../kernel/engine.ts';

export interface WriteBehindOptions<T> {
  /** How long the first update waits for others, to be written with them. */
  readonly delayMs: number;
  /** Maximum of waiting keys. Updates of further keys are dropped to bound memory. */
  readonly most: number;
  merge(older: T, newer: T): T;
  write(key: string, value: T): Promise<unknown>;
}

/**
 * Updates that nobody waits for: merged in memory by key and written in a batch a moment later. A crash loses the last
 * moment, so this is for figures and receipts, which may be too low, not for quotas. An update that cannot be written
 * is retried with the next batch.
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

  /** Writes all waiting updates in one tick, so that an engine with group commit commits them together. Never rejects. */
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
