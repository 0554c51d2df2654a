import { isRelayError } from '../base/errors.ts';
import { pause } from '../base/pause.ts';
import type { Hit } from '../kernel/search-index.ts';

/** A document to put into the index, or to remove from it where `text` is null; `fields` is JSON. */
export interface IndexChange {
  readonly key: string;
  readonly text: string | null;
  readonly fields: string;
}

/** Work on the full-text index in the SQLite database `file`, as a thread does it with connections of its own. */
export interface IndexJob {
  readonly file: string;
  readonly search?: { readonly scope: string; readonly query: string; readonly limit: number };
  /** Made in one transaction. */
  readonly changes?: readonly IndexChange[];
  /** Leave the write lock to others for as long as the transaction held it. */
  readonly yields?: boolean;
}

/** Runs a job in a thread. `tenant`: whose job it is, for a fair queue. */
export type IndexThreads = (job: IndexJob, o: { readonly tenant: string }) => Promise<Hit[]>;

/** Text that one job changes, so that other writers wait 10 ms or so. A document that is removed is taken to be this long. */
const JOB_CHARS = 64 * 1024;
const REMOVED_CHARS = 32 * 1024;

/** The pause before a change that found the threads overloaded is tried again. */
const OVERLOADED_PAUSE_MS = 250;

/** The index of one database, as others than its threads see it. */
export class IndexThread {
  readonly #threads: IndexThreads;
  readonly #file: string;
  readonly #yields: boolean;
  /** The last change of each tenant: changes of a tenant are made in their order, since one may undo another. */
  readonly #changing = new Map<string, Promise<void>>();

  constructor(threads: IndexThreads, file: string, o: { yields?: boolean } = {}) {
    this.#threads = threads;
    this.#file = file;
    this.#yields = o.yields ?? false;
  }

  search(search: NonNullable<IndexJob['search']>): Promise<Hit[]> {
    return this.#threads({ file: this.#file, search }, { tenant: tenantOf(search.scope) });
  }

  change(changes: readonly IndexChange[]): Promise<void> {
    const tenant = tenantOf(changes[0]?.key ?? '');
    const before = this.#changing.get(tenant) ?? Promise.resolve();
    const changing = before
      // Its own caller is told of a failure.
      .catch(() => {})
      .then(() => this.#change(changes, tenant))
      .finally(() => {
        if (this.#changing.get(tenant) === changing) this.#changing.delete(tenant);
      });
    this.#changing.set(tenant, changing);
    return changing;
  }

  /** A job takes little of it, so that jobs of others come in between. While the threads are overloaded, it waits. */
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

/** How many changes from `at` on make one job: at least one. */
function jobLength(changes: readonly IndexChange[], at: number): number {
  let length = 0;
  for (let chars = 0; at + length < changes.length && chars < JOB_CHARS; length++)
    chars += changes[at + length]!.text?.length ?? REMOVED_CHARS;
  return length;
}

/** `ten.acme/artifacts/` belongs to the tenant `acme`. */
function tenantOf(key: string): string {
  return key.slice(0, key.indexOf('/')).replace(/^ten\./, '');
}
