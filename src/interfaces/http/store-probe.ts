import { isRelayError, RelayError } from '../../base/errors.ts';
import type { HttpDeps } from './deps.ts';

/** A write costs an fsync and anybody may ask for health, so a write that succeeded counts for this long. */
const WRITTEN_FOR_MS = 5_000;

/** Finds out whether the store can be read, which is tried every time, and written. */
export class StoreProbe {
  readonly #records: HttpDeps['core']['deps']['engine']['records'];
  #written = Number.NEGATIVE_INFINITY;
  #writing: Promise<unknown> | null = null;

  constructor({ core }: Pick<HttpDeps, 'core'>) {
    this.#records = core.deps.engine.records;
  }

  /** Throws `store_unavailable`, with what the store said, where it is closed, full, damaged or not ours to write. */
  async check(): Promise<void> {
    try {
      // A listing, since a single record may come from memory.
      await this.#records.list('sys/', { limit: 1 });
      if (performance.now() - this.#written >= WRITTEN_FOR_MS) await this.#write();
    } catch (error) {
      if (!isRelayError(error) || error.code === 'store_unavailable') throw error;
      throw new RelayError('store_unavailable', { what: error.message, hint: error.hint }, error);
    }
  }

  /** Those who ask at the same time wait for the same write. */
  #write(): Promise<unknown> {
    this.#writing ??= this.#records
      .put('sys/health', null)
      .then(() => {
        this.#written = performance.now();
      })
      .finally(() => {
        this.#writing = null;
      });
    return this.#writing;
  }
}
