import { hmacSha256, sha256Hex } from '../../base/hash.ts';
import { uuidFrom } from '../../base/ids.ts';
import type { Caller } from '../../contract/caller.ts';
import type { StoreSecret } from '../store-secret.ts';
import type { CheckedOptions } from './push-options.ts';

/** The same key of the same tenant gives the same id; without the store's secret nobody can tell which. */
export async function derivedId(secret: StoreSecret, caller: Caller, key: string): Promise<string> {
  return uuidFrom(await hmacSha256(await secret.bytes(), `push\n${caller.tenant}\n${key}`));
}

/** What must be alike for a repeated key to be a retry and not another request. */
export function requestFingerprint(sha256: string, o: CheckedOptions): Promise<string> {
  const { channel, metadata, ttlMs, max_pulls, visibility, content_type, sealed_key } = o;
  return sha256Hex(
    JSON.stringify([sha256, channel, metadata, ttlMs, max_pulls, visibility, content_type, sealed_key]),
  );
}
