import { KEY_USE_WAITING, KEY_USE_WRITE_MS, USAGE_KEPT_MS } from '../../base/limits.ts';
import type { Deps } from '../deps.ts';
import { allRecords, type RecordsOf, recordsOf } from '../records.ts';

const usedPrefix = (tenant: string) => `ten.${tenant}/key-used/`;
const usedKey = (tenant: string, id: string) => usedPrefix(tenant) + id;

/** When each key was last used. Written behind, a moment later: a request waits for none of it. */
export class KeyUse {
  readonly #deps: Pick<Deps, 'engine' | 'env'>;
  readonly #records: RecordsOf<number>;
  /** By the key of the record. */
  readonly #seen = new Map<string, number>();
  #isDue = false;

  constructor(deps: Pick<Deps, 'engine' | 'env'>) {
    this.#deps = deps;
    this.#records = recordsOf(deps.engine.records);
  }

  note(tenant: string, id: string): void {
    const key = usedKey(tenant, id);
    if (this.#seen.size >= KEY_USE_WAITING && !this.#seen.has(key)) return;
    this.#seen.set(key, this.#deps.env.now());
    if (this.#isDue) return;
    this.#isDue = true;
    // What cannot be written is written with the next use, or when the relay is tidied.
    this.#deps.engine.defer(() => this.flush(), KEY_USE_WRITE_MS);
  }

  async flush(): Promise<void> {
    this.#isDue = false;
    for (const [key, at] of [...this.#seen]) {
      await this.#records.put(key, at, { expiresAt: at + USAGE_KEPT_MS });
      if (this.#seen.get(key) === at) this.#seen.delete(key);
    }
  }

  /** Of one tenant, by key id; what is not written yet included. */
  async of(tenant: string): Promise<Map<string, number>> {
    const prefix = usedPrefix(tenant);
    const written = await Array.fromAsync(
      allRecords(this.#records, prefix),
      ({ key, value }) => [key, value] as const,
    );
    const own = [...written, ...this.#seen].filter(([key]) => key.startsWith(prefix));
    return new Map(own.map(([key, at]) => [key.slice(prefix.length), at]));
  }
}
