import { toHex } from '../base/ids.ts';
import { compareAndSet } from '../kernel/records.ts';
import type { Deps } from './deps.ts';

const KEY = 'sys/secret';
const BYTES = 32;

/**
 * A secret that is created once per store. Ids and frame marks are derived from it, so that nobody can guess
 * them.
 */
export class StoreSecret {
  readonly #deps: Deps;
  #secret: Promise<Uint8Array<ArrayBuffer>> | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  bytes(): Promise<Uint8Array<ArrayBuffer>> {
    this.#secret ??= this.#load().catch((error: unknown) => {
      this.#secret = undefined;
      throw error;
    });
    return this.#secret;
  }

  async #load(): Promise<Uint8Array<ArrayBuffer>> {
    const { records } = this.#deps.engine;
    const hex = await compareAndSet('the secret of the store', async () => {
      const stored = await records.get(KEY);
      if (typeof stored?.value === 'string') return stored.value;
      const fresh = toHex(this.#deps.env.randomBytes(BYTES));
      return (await records.put(KEY, fresh, { expect: 'absent' })) === null ? null : fresh;
    });
    return Uint8Array.from({ length: BYTES }, (_, i) => Number.parseInt(hex.slice(i * 2, i * 2 + 2), 16));
  }
}
