import { toHex } from '../base/ids.ts';
import { lazily } from '../base/lazily.ts';
import { compareAndSet } from '../kernel/records.ts';
import type { Deps } from './deps.ts';

const KEY = 'sys/secret';
const BYTES = 32;

/**
 * Returns a function that reads the secret of the store, which is created once per store. Ids and frame marks are
 * derived from it, so that nobody can guess them.
 */
export function storeSecret({ engine: { records }, env }: Deps): () => Promise<Uint8Array<ArrayBuffer>> {
  return lazily(async () => {
    const hex = await compareAndSet('the secret of the store', async () => {
      const stored = await records.get(KEY);
      if (typeof stored?.value === 'string') return stored.value;
      const fresh = toHex(env.randomBytes(BYTES));
      return (await records.put(KEY, fresh, { expect: 'absent' })) === null ? null : fresh;
    });
    return Uint8Array.from({ length: BYTES }, (_, i) => Number.parseInt(hex.slice(i * 2, i * 2 + 2), 16));
  });
}
