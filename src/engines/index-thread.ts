import { isRelayError } from '../base/errors.ts';
import { pause } from '../base/pause.ts';
import type { Hit } from '../kernel/search-index.ts';

/** A document to index, or to remove if `text` is null. `fields` is JSON. */
export interface IndexChange {
  readonly key: string;
  readonly text: string | null;
  readonly fields: string;
}

/**
 * A job for a worker thread on the full-text index in the SQLite database `file`. The thread has its own connections.
 */
export interface IndexJob {
  readonly file: string;
  readonly search?: { readonly scope: string; readonly query: string; readonly limit: number };
  /** Changes to make in one transaction. */
  readonly changes?: readonly IndexChange[];
  /**
   * True if the thread pauses after the transaction for as long as the transaction lasted, so that other
   * writers get their turn.
   */
  readonly yields?: boolean;
}

/** Runs a job in a worker thread. The queue is fair between tenants. */
export type IndexThreads = (job: IndexJob, o: { readonly tenant: string }) => Promise<Hit[]>;

/** Maximum number of characters per job, so that other writers wait only about 10 ms. */
const JOB_CHARS = 64 * 1024;
/** The removal of one document counts as this many characters of a job. */
const REMOVED_CHARS = 32 * 1024;

/** Time in ms before a change is retried while the threads are overloaded. */
const OVERLOADED_PAUSE_MS = 250;

/** Client of the worker threads for the index of one database. */
export class IndexThread {
  readonly #threads: IndexThreads;
  readonly #file: string;
  readonly #yields: boolean;
  /**
   * Last change of each tenant. The changes of a tenant run in order, because a later change may undo an earlier one.
   */
  readonly #changing = new Map<string, Promise<void>>();

  constructor(threads: IndexThreads, file: string, o: { yields?: boolean } = {}) {
    this.#threads = threads;
    this.#file = file;
    this.#yields = o.yields ?? false;
  }

  /** Runs a search in a worker thread. */
  search(search: NonNullable<IndexJob['search']>): Promise<Hit[]> {
    return this.#threads({ file: this.#file, search }, { tenant: tenantOf(search.scope) });
  }

  /** Makes changes in a worker thread, after the earlier changes of the tenant. */
  change(changes: readonly IndexChange[]): Promise<void> {
    const tenant = tenantOf(changes[0]?.key ?? '');
    const before = this.#changing.get(tenant) ?? Promise.resolve();
    const changing = before
      // Ignore the error of the previous change: the caller of that change gets it.
      .catch(() => {})
      .then(() => this.#change(changes, tenant))
      .finally(() => {
        if (this.#changing.get(tenant) === changing) this.#changing.delete(tenant);
      });
    this.#changing.set(tenant, changing);
    return changing;
  }

  /**
   * Splits the changes into small jobs, so that jobs of other tenants can run between them. Retries while the threads
   * are overloaded.
   */
  async #change(changes: readonly IndexChange[], tenant: string): Promise<void> {
    for (let at = 0; at < changes.length; ) {
      const some = changes.slice(at, at + jobLength(changes, at));
      try {
        await this.#threads({ file: this.#file, changes: some, yields: this.#yields }, { tenant });
        at += some.length;
      } catch (error) {
        if (!isRelayError(error, 'overloaded')) throw error;
        await pause(OVERLOADED_PAUSE_MS);
      }
    }
  }
}

/** Returns how many changes from index `at` on fit into one job: at least one. */
function jobLength(changes: readonly IndexChange[], at: number): number {
  let length = 0;
  for (let chars = 0; at + length < changes.length && chars < JOB_CHARS; length++)
    chars += changes[at + length]!.text?.length ?? REMOVED_CHARS;
  return length;
}

/** Returns the tenant of a key: `acme` for `ten.acme/artifacts/`. */
function tenantOf(key: string): string {
  return key.slice(0, key.indexOf('/')).replace(/^ten\./, '');
}
