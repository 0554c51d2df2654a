import { isRelayError, RelayError } from '../../base/errors.ts';
import type { HttpDeps } from './deps.ts';

type Records = HttpDeps['core']['deps']['engine']['records'];

/** A write costs an fsync and anybody may ask for health, so a write that succeeded counts for this long. */
const WRITTEN_FOR_MS = 5_000;

/** Finds out whether the store can be read, which is tried every time, and written. */
export class StoreProbe {
  readonly #deps: Pick<HttpDeps, 'core'>;
  #written = Number.NEGATIVE_INFINITY;
  #writing: { readonly records: Records; readonly done: Promise<void> } | null = null;

  constructor(deps: Pick<HttpDeps, 'core'>) {
    this.#deps = deps;
  }

  /**
   * Gives the error of a store without room: it is read, and things are deleted from it, so requests must still reach it. Null where
   * it takes writes. Throws `store_unavailable`, with what the store said, where it is closed, damaged or not ours to write.
   */
  async check(): Promise<RelayError | null> {
    try {
      // A listing, since a single record may come from memory.
      const { records } = this.#deps.core.deps.engine;
      await records.list('sys/', { limit: 1 });
      if (performance.now() - this.#written >= WRITTEN_FOR_MS) await this.#write(records);
      return null;
    } catch (error) {
      if (isRelayError(error, 'store_full')) return error;
      if (!isRelayError(error) || error.code === 'store_unavailable') throw error;
      throw new RelayError('store_unavailable', { what: error.message, hint: error.hint }, error);
    }
  }

  /** Those who ask the same store at the same time wait for the same write. */
  async #write(records: Records): Promise<void> {
    if (this.#writing?.records !== records) {
      const done = records.put('sys/health', null).then(() => {
        this.#written = performance.now();
      });
      this.#writing = { records, done };
    }
    try {
      await this.#writing.done;
    } finally {
      this.#writing = null;
    }
  }
}
