import type { Scope } from '../caller.ts';

/** Field names are those on the wire, so that local and remote are one type. */

export interface NewKey {
  /** Shown to others as `from`. */
  readonly name: string;
  /** All but `admin` unless told. */
  readonly scopes?: readonly Scope[];
  readonly channel_prefix?: string;
  /** Seconds until it stops working; never unless told. */
  readonly expires_in?: number;
  /** The caller's own unless told; another only by an admin of the relay. */
  readonly tenant?: string;
  /** Puts the tenant on this plan. */
  readonly plan?: string;
}

export interface KeyInfo {
  readonly id: string;
  readonly tenant: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly channel_prefix: string | null;
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly last_used_at: string | null;
  readonly revoked_at: string | null;
}

/** The only time the key itself is shown. */
export interface CreatedKey extends KeyInfo {
  readonly key: string;
  readonly plan: string;
}

export interface KeysApi {
  create(input: NewKey): Promise<CreatedKey>;
  /** Newest first; with `all`, also those that were revoked in the last 30 days. */
  list(o?: { all?: boolean; tenant?: string }): Promise<KeyInfo[]>;
  /** It stops working at once, everywhere. */
  revoke(id: string, o?: { tenant?: string }): Promise<KeyInfo>;
  /** A new key with the same name and rights; the old one works for `grace` more seconds, 0 unless told. */
  rotate(id: string, o?: { grace?: number; tenant?: string }): Promise<CreatedKey>;
}
