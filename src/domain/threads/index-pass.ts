import { isRelayError } from '../../base/errors.ts';
import type { Artifact } from '../../contract/threads/artifacts.ts';
import type { Deps } from '../deps.ts';
import { allRecords, type RecordsOf, recordsOf } from '../records.ts';
import { listPrefix, type ThreadRoot, threadPrefix } from './keys.ts';

/**
 * How far the artifacts of a tenant have been looked through for those that an earlier version indexed in part: all threads up
 * to the one listed under `after`, or all of them where that is null. Artifacts made after `before` are not looked at.
 */
interface Pass {
  readonly before: number;
  readonly after: string | null;
}

/** Earlier versions indexed at least so many characters of an artifact. */
export const ALWAYS_INDEXED_BYTES = 100_000;
/** Threads that are looked through at once, before it is noted how far that is. */
const THREADS_AT_ONCE = 20;

const passKey = (tenant: string) => `ten.${tenant}/index-pass`;

export type FindThread = (tenant: string, id: string) => Promise<{ readonly root: ThreadRoot } | null>;

/** Looks once through what a tenant has, from its first artifact or search of this version on. */
export class IndexPass {
  readonly #deps: Deps;
  readonly #find: FindThread;
  readonly #passes: RecordsOf<Pass>;
  readonly #artifacts: RecordsOf<Artifact>;

  constructor(deps: Deps, find: FindThread) {
    this.#deps = deps;
    this.#find = find;
    this.#passes = recordsOf(deps.engine.records);
    this.#artifacts = recordsOf(deps.engine.records);
  }

  /** Begins it, where it has not begun yet. Null where it is done. What is made from `before` on is not looked at. */
  async begin(tenant: string, before?: number): Promise<Pass | null> {
    const pass = (await this.#passes.get(passKey(tenant)))?.value ?? (await this.#new(tenant, before));
    return pass.after === null ? null : pass;
  }

  /** Tells of the artifacts it finds, a few threads at a time. False where there may be more. */
  async goOn(
    tenant: string,
    o: { isOver(): boolean; found(root: ThreadRoot, artifact: Artifact): Promise<void> },
  ): Promise<boolean> {
    const { records, limits } = this.#deps.engine;
    for (let pass = await this.begin(tenant); pass !== null; pass = await this.begin(tenant)) {
      if (o.isOver()) return false;
      const from = pass.after === '' ? {} : { after: pass.after! };
      const { items, next } = await records.list(listPrefix(tenant), { limit: THREADS_AT_ONCE, ...from });
      const { before } = pass;
      const ids = items.map(({ key }) => key.slice(key.lastIndexOf('.') + 1));
      await Promise.all(ids.map((id) => this.#lookInto(tenant, id, { before, found: o.found })));
      await this.#passes.put(passKey(tenant), { before, after: next ?? null });
      if (limits.shortLived) return false;
    }
    return true;
  }

  async #lookInto(
    tenant: string,
    id: string,
    o: { before: number; found(root: ThreadRoot, artifact: Artifact): Promise<void> },
  ): Promise<void> {
    const root = (await this.#find(tenant, id))?.root;
    if (root === undefined) return;
    for await (const { value } of allRecords(this.#artifacts, `${threadPrefix(root)}artifacts/`)) {
      const isKnown = value.deleted_at !== undefined || value.type === 'binary';
      const isNew = Date.parse(value.created_at) >= o.before;
      if (!isKnown && !isNew && !isSearchResult(value) && value.size > ALWAYS_INDEXED_BYTES)
        await o.found(root, value);
    }
  }

  async #new(tenant: string, before = this.#deps.env.now()): Promise<Pass> {
    const { items: threads } = await this.#deps.engine.records.list(listPrefix(tenant), { limit: 1 });
    // A tenant without a thread has nothing to look through.
    const begun: Pass = { before, after: threads.length === 0 ? null : '' };
    await this.#passes.put(passKey(tenant), begun, { expect: 'absent' }).catch((error) => {
      // A search goes on where the store has no room; the look begins with a later one.
      if (!isRelayError(error, 'store_full')) throw error;
    });
    return (await this.#passes.get(passKey(tenant)))?.value ?? begun;
  }
}

/** Results of a search are left out of the index, so that looking twice finds the same. */
export function isSearchResult({ provenance }: Artifact): boolean {
  return provenance.capability === 'retrieval.search';
}
