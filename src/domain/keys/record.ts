import type { KeyInfo } from '../../contract/keys.ts';

/** What is found by the hash of a key, at every request. */
export interface KeyRecord extends Pick<KeyInfo, 'id' | 'tenant' | 'name' | 'scopes'> {
  readonly hash: string;
  readonly prefix: string | null;
  readonly created: number;
  readonly expires: number | null;
  /** The keys that it took the place of, the last one at the end. */
  readonly former?: readonly string[];
}

/** The same in the list of its tenant, where it stays for a while after it was revoked. */
export interface ListedKey extends KeyRecord {
  readonly revoked: number | null;
  /** The key that took its place: as long as that one works, this one does not count against the plan. */
  readonly replaced?: string;
}

export const keyKey = (hash: string) => `key.${hash}/key`;
export const listPrefix = (tenant: string) => `ten.${tenant}/keys/`;
export const listKey = (tenant: string, id: string) => listPrefix(tenant) + id;
export const usedPrefix = (tenant: string) => `ten.${tenant}/key-used/`;
export const usedKey = (tenant: string, id: string) => usedPrefix(tenant) + id;

export function describeKey(key: ListedKey, lastUsed: number | null): KeyInfo {
  return {
    id: key.id,
    tenant: key.tenant,
    name: key.name,
    scopes: key.scopes,
    channel_prefix: key.prefix,
    created_at: time(key.created)!,
    expires_at: time(key.expires),
    last_used_at: time(lastUsed),
    revoked_at: time(key.revoked),
  };
}

function time(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
