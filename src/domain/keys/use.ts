import { KEY_USE_WAITING, KEY_USE_WRITE_MS, USAGE_KEPT_MS } from '../../base/limits.ts';
import type { Ground } from '../ground.ts';
import { allRecords, type RecordsOf, recordsOf } from '../records.ts';
import { usedKey, usedPrefix } from './record.ts';

/** When each key was last used. Written behind and at most once a minute a key: a request waits for none of it. */
export class KeyUse {
  readonly #ground: Ground;
  readonly #records: RecordsOf<number>;
  /** `tenant/id` → when; the values of `#written` are what the store already knows. */
  readonly #seen = new Map<string, number>();
  readonly #written = new Map<string, number>();

  constructor(ground: Ground) {
    this.#ground = ground;
    this.#records = recordsOf(ground.engine.records);
  }

  note(tenant: string, id: string): void {
    const key = usedKey(tenant, id);
    if (this.#seen.size >= KEY_USE_WAITING && !this.#seen.has(key)) return;
    this.#seen.set(key, this.#ground.env.now());
  }

  async flush(o: { all?: boolean } = {}): Promise<void> {
    const seen = [...this.#seen];
    this.#seen.clear();
    for (const [key, at] of seen) {
      if (!o.all && at - (this.#written.get(key) ?? 0) < KEY_USE_WRITE_MS) {
        if (!this.#seen.has(key)) this.#seen.set(key, at);
        continue;
      }
      await this.#records.put(key, at, { expiresAt: at + USAGE_KEPT_MS });
      this.#written.delete(key);
      this.#written.set(key, at);
      if (this.#written.size > KEY_USE_WAITING) this.#written.delete(this.#written.keys().next().value!);
    }
  }

  /** Of one tenant, by key id; what is not written yet included. */
  async of(tenant: string): Promise<Map<string, number>> {
    const prefix = usedPrefix(tenant);
    const used = new Map<string, number>();
    for await (const { key, value } of allRecords(this.#records, prefix)) {
      used.set(key.slice(prefix.length), value);
    }
    for (const [key, at] of this.#seen) {
      if (key.startsWith(prefix)) used.set(key.slice(prefix.length), at);
    }
    return used;
  }
}
