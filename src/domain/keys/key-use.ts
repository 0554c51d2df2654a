import { KEY_USE_WAITING, KEY_USE_WRITE_MS, USAGE_KEPT_MS } from '../../base/limits.ts';
import type { Deps } from '../deps.ts';
import { allRecords, type RecordsOf, recordsOf } from '../records.ts';
import { WriteBehind } from '../write-behind.ts';

const usedPrefix = (tenant: string) => `ten.${tenant}/key-used/`;
const usedKey = (tenant: string, id: string) => usedPrefix(tenant) + id;

/**
 * Records when each API key and each share link was last used. The times are write-behind, so no request waits for the
 * write.
 */
export class KeyUse {
  readonly #deps: Pick<Deps, 'engine' | 'env'>;
  readonly #records: RecordsOf<number>;
  readonly #behind: WriteBehind<number>;

  constructor(deps: Pick<Deps, 'engine' | 'env'>) {
    this.#deps = deps;
    this.#records = recordsOf(deps.engine.records);
    this.#behind = new WriteBehind(deps.engine, {
      delayMs: KEY_USE_WRITE_MS,
      most: KEY_USE_WAITING,
      merge: (_, newer) => newer,
      write: (key, at) => this.#records.put(key, at, { expiresAt: at + USAGE_KEPT_MS }),
    });
  }

  note(tenant: string, id: string): void {
    this.#behind.note(usedKey(tenant, id), this.#deps.env.now());
  }

  flush(): Promise<void> {
    return this.#behind.flush();
  }

  /** Returns the time in ms when each API key and share link of a tenant was last used, by id. */
  async of(tenant: string): Promise<Map<string, number>> {
    await this.flush();
    const prefix = usedPrefix(tenant);
    const used = await Array.fromAsync(allRecords(this.#records, prefix));
    return new Map(used.map(({ key, value }) => [key.slice(prefix.length), value]));
  }
}
