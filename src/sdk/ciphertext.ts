import { isRelayError, RelayError } from '../base/errors.ts';
import { STORED_BYTES } from '../base/limits.ts';
import type { Inspected, Pulled } from '../contract/pointers.ts';
import { FERNET_CONTENT_TYPE, fernetDecrypt, fernetKeyCheck } from '../formats/fernet.ts';
import { collect } from './streams.ts';

/** Whether it was encrypted by a client of ours; what others encrypted looks like any text. */
export function isCiphertext({ content_type }: Pick<Inspected, 'content_type'>): boolean {
  return content_type === FERNET_CONTENT_TYPE;
}

/** How every Fernet token of this century begins, with a line number in front or not. */
export const CIPHERTEXT = /^(?:.*\n)?(?:\d+[:-])?gAAAAA/;

/**
 * Before anything counts as a pull: refuses what cannot be a key, and one that is not the key whose check the sender left.
 * Gives what the peek told; null where nothing is known of the pointer, so that the pull says why.
 */
export async function checkKey(key: string, peek: () => Promise<Inspected>): Promise<Inspected | null> {
  const check = await fernetKeyCheck(key);
  const found = await peek().catch((error) => {
    if (knowsNoPeek(error)) return null;
    throw error;
  });
  if (found?.key_check !== undefined && found.key_check !== check) throw new RelayError('decrypt_failed');
  return found;
}

/** Whatever is there, a peek is nothing to ask of it: what it says to a pull is its answer. */
function knowsNoPeek(error: unknown): boolean {
  return isRelayError(error) && ([404, 405].includes(error.status) || error.details.final === true);
}

/** The payload as it was before it was encrypted, where it was. */
export async function opened(pulled: Pulled, key: string | null): Promise<Uint8Array<ArrayBuffer>> {
  if (key === null && isCiphertext(pulled.about)) throw new RelayError('key_missing');
  const stored = await collect(pulled.body, { bytes: STORED_BYTES, what: 'a payload' });
  return key === null ? stored : fernetDecrypt(key, stored);
}
