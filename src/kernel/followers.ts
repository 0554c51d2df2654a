import type { Entry } from './logs.ts';

/** Everyone in this process who follows a stream: the loop of reading and waiting that engines share. */
export class Followers {
  readonly #wakes = new Map<string, Set<() => void>>();
  readonly #ended = new AbortController();

  /** How many streams are followed. */
  get streams(): number {
    return this.#wakes.size;
  }

  /**
   * `read` gives the entries behind a sequence, a page of them at most. Pull-based: between two entries this holds a
   * cursor and one page.
   */
  async *follow(
    stream: string,
    after: number,
    signal: AbortSignal,
    read: (after: number) => Promise<Entry[]>,
  ): AsyncGenerator<Entry> {
    const ended = AbortSignal.any([signal, this.#ended.signal]);
    let news = Promise.withResolvers<void>();
    const wake = () => news.resolve();
    ended.addEventListener('abort', wake);
    const wakes = this.#wakes.get(stream) ?? new Set();
    this.#wakes.set(stream, wakes.add(wake));
    try {
      for (let cursor = after; !ended.aborted; ) {
        // Before the read, so that what is appended during it wakes the wait that follows.
        news = Promise.withResolvers();
        const page = await read(cursor);
        for (const entry of page) {
          if (ended.aborted) return;
          cursor = entry.seq;
          yield entry;
        }
        if (page.length === 0) await news.promise;
      }
    } catch (error) {
      // A store that was closed meanwhile cannot be read any more; that ends a subscription like its signal does.
      if (!this.#ended.signal.aborted) throw error;
    } finally {
      wakes.delete(wake);
      if (wakes.size === 0) this.#wakes.delete(stream);
    }
  }

  /** Whether anyone follows it. */
  has(stream: string): boolean {
    return this.#wakes.has(stream);
  }

  /** The stream has grown. */
  wake(stream: string): void {
    for (const wake of this.#wakes.get(stream) ?? []) wake();
  }

  /** Any stream may have grown. */
  wakeAll(): void {
    for (const stream of this.#wakes.keys()) this.wake(stream);
  }

  /** Ends every subscription, and those that begin later at once. */
  end(): void {
    this.#ended.abort();
  }
}
