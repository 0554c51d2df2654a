import { isRelayError } from '../../base/errors.ts';
import type { Place } from './store-bucket.ts';

/** A listing is a request for every thousand objects, so a process counts them once an hour. */
const COUNT_EVERY_MS = 3_600_000;
/** A bucket that is out is asked again after this. */
const OUT_MS = 60_000;

/** What a bucket holds of a store: as it was last listed, with what this process has put since. */
export class BucketCount {
  readonly #now: () => number;
  #bytes: number | null = null;
  #until = Number.NEGATIVE_INFINITY;
  #counting: Promise<void> | null = null;

  constructor(now: () => number) {
    this.#now = now;
  }

  add(bytes: number): void {
    if (this.#bytes !== null) this.#bytes += bytes;
  }

  /** What a listing for another purpose has found. */
  set(bytes: number | null): void {
    this.#bytes = bytes;
    this.#until = this.#now() + (bytes === null ? OUT_MS : COUNT_EVERY_MS);
  }

  /** In bytes; null where the bucket is out. */
  async of(place: Place): Promise<number | null> {
    if (this.#now() >= this.#until) {
      this.#counting ??= this.#count(place).finally(() => {
        this.#counting = null;
      });
      await this.#counting;
    }
    return this.#bytes;
  }

  async #count({ id, bucket }: Place): Promise<void> {
    let bytes = 0;
    try {
      for await (const { size } of bucket.list(`${id}/`)) bytes += size;
      this.set(bytes);
    } catch (error) {
      if (!isRelayError(error, 'bucket_unavailable')) throw error;
      this.set(null);
    }
  }
}
