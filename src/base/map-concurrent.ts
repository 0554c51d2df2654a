/**
 * Default number of items that are processed at the same time. It is high, so that an engine can commit many items
 * together.
 */
const WIDTH = 250;

/**
 * Runs `work` on every item, at most `width` items at the same time. Returns the results in the order of the items.
 * After a failure, starts no further items, waits for the running ones and throws the error.
 */
export async function mapConcurrent<T, R>(
  items: Iterable<T> | AsyncIterable<T>,
  work: (item: T) => Promise<R>,
  width = WIDTH,
): Promise<R[]> {
  const results: R[] = [];
  const iterator = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
  let started = 0;
  let failed = false;
  const worker = async () => {
    try {
      for (;;) {
        const next = await iterator.next();
        if (next.done || failed) return;
        const at = started++;
        results[at] = await work(next.value);
      }
    } catch (error) {
      failed = true;
      throw error;
    }
  };
  const length = Array.isArray(items) ? Math.min(width, items.length) : width;
  const outcomes = await Promise.allSettled(Array.from({ length }, worker));
  const failure = outcomes.find((outcome) => outcome.status === 'rejected');
  if (!failure) return results;
  await iterator.return?.();
  throw failure.reason;
}

/**
 * Limits concurrency: at most `width` calls run at the same time. Other calls wait, and start in the order of their
 * arrival.
 */
export class ConcurrencyLimit {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(width: number) {
    this.#free = width;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      // Give the slot directly to the call that has waited longest. Otherwise a new call could take the slot first.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    }
  }
}
