import { PAGE_ITEMS } from '../../base/limits.ts';
import type { Caller } from '../../contract/caller.ts';
import type { Deps } from '../deps.ts';
import { indexKey, listKey, listPrefix, logOf, metaKey, threadPrefix } from './keys.ts';
import type { ThreadLog } from './thread-log.ts';

/** Deletes threads with everything in them. */
export class Removal {
  readonly #deps: Deps;
  readonly #log: ThreadLog;

  readonly #followers: ((id: string) => void)[] = [];

  constructor(deps: Deps, log: ThreadLog) {
    this.#deps = deps;
    this.#log = log;
  }

  /**
   * The record that makes it a thread goes first: from then on it does not exist. The entry in the list goes last, so
   * that whatever a crash leaves behind is found again.
   */
  async delete(caller: Caller, id: string): Promise<void> {
    const meta = await this.#log.meta(caller, id);
    await this.#deps.engine.records.delete(metaKey(id));
    await this.clear(caller.tenant, id);
    await this.#deps.engine.records.delete(listKey(caller.tenant, id, meta.created));
  }

  /** For a thread whose deletion was begun. */
  async finish(tenant: string, id: string): Promise<void> {
    const { records } = this.#deps.engine;
    if (await records.get(metaKey(id))) return;
    await this.clear(tenant, id);
    let after: string | undefined;
    do {
      const page = await records.list(listPrefix(tenant), { after, limit: PAGE_ITEMS });
      for (const { key } of page.items) if (key.endsWith(`.${id}`)) await records.delete(key);
      after = page.next;
    } while (after !== undefined);
  }

  /** `follower` is called after everything of a thread is gone. */
  follow(follower: (id: string) => void): void {
    this.#followers.push(follower);
  }

  /** Everything that is kept under the thread's name. */
  async clear(tenant: string, id: string): Promise<void> {
    const { engine } = this.#deps;
    this.#log.heads.forget(id);
    await this.#removeAll(id, async (key) => {
      const ref = /\/artifacts\/([0-9a-f]{26})$/.exec(key)?.[1];
      if (ref) await engine.index.remove(indexKey(tenant, id, ref));
    });
    await engine.logs.drop(logOf(id));
    for (const follower of this.#followers) follower(id);
  }

  async #removeAll(id: string, onRecord: (key: string) => Promise<void>): Promise<void> {
    const { blobs, records } = this.#deps.engine;
    const prefix = threadPrefix(id);
    for (;;) {
      const { items } = await records.list(prefix, { limit: PAGE_ITEMS });
      for (const { key } of items) {
        await onRecord(key);
        await records.delete(key);
      }
      if (items.length === 0) break;
    }
    for (;;) {
      const { items } = await blobs.list(prefix, { limit: PAGE_ITEMS });
      for (const { key } of items) await blobs.delete(key);
      if (items.length === 0) break;
    }
  }
}
