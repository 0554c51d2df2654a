import type { Scope } from './caller.ts';
import { verbs } from './verb.ts';

/** Field names are those on the wire, so that local and remote are one type. */

export interface NewKey {
  /** Shown to others as `from`. */
  readonly name: string;
  /** All but `admin` by default. */
  readonly scopes?: readonly Scope[];
  readonly channel_prefix?: string;
  /** Seconds until it stops working; never by default. */
  readonly expires_in?: number;
  /** The caller's own by default; another only by an admin of the relay. */
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

export interface RevokedKey extends KeyInfo {
  /** Number of share links that ended because this key was revoked. */
  readonly shares_ended: number;
}

/** Who is asking, as the relay sees it. */
export interface Self {
  /** `open`: nobody is asked for a key. */
  readonly auth: 'open' | 'keys';
  /** Nobody is asked for a key, and others than this machine can reach the relay. */
  readonly exposed: boolean;
  readonly tenant: string;
  readonly key_id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly channel_prefix: string | null;
  /** Of a share link: the one thread that it shows. */
  readonly thread: string | null;
  /** It looks after all tenants. */
  readonly admin_of_relay: boolean;
}

/** The only time the key itself is shown. */
export interface CreatedKey extends KeyInfo {
  readonly key: string;
  readonly plan: string;
}

const verb = verbs({ scope: 'admin', args: ['id'] });

export const keys = {
  create: verb<(input: NewKey) => Promise<CreatedKey>>('keys.create')({
    summary: 'Make an API key; the answer is the only place that ever shows it',
    route: 'POST /keys',
    args: [],
    status: 201,
  }),
  /** Any key may ask; refused with `unauthorized` without one, where keys are on. */
  self: verb<() => Promise<Self>>('keys.self')({
    summary: 'Who is asking: tenant, scopes, and whether keys are on at all',
    scope: null,
    shared: true,
    route: 'GET /keys/self',
    args: [],
  }),
  /** Newest first; with `all`, also those that were revoked in the last 30 days. */
  list: verb<(o?: { all?: boolean; tenant?: string }) => Promise<KeyInfo[]>>('keys.list')({
    summary: 'The keys of the tenant, newest first, never the keys themselves',
    route: 'GET /keys',
    args: [],
    answer: 'keys',
  }),
  /** It stops working at once, everywhere, and so do the share links it made. */
  revoke: verb<(id: string, o?: { tenant?: string }) => Promise<RevokedKey>>('keys.revoke')({
    summary: 'Revoke a key at once, and the share links it made',
    route: 'DELETE /keys/:id',
    repeatable: true,
  }),
  /**
   * A new key with the same name and rights; the old one works for `grace` more seconds, 0 by default. A key has one
   * successor, and is not rotated itself before the one that it replaced has ended.
   */
  rotate: verb<(id: string, o?: { grace?: number; tenant?: string }) => Promise<CreatedKey>>('keys.rotate')({
    summary: 'Make a new key with the same rights in place of an old one',
    route: 'POST /keys/:id/rotate',
    status: 201,
  }),
};
