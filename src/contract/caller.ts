import { SCOPES } from '../base/enums.ts';
import { badRequest, RelayError } from '../base/errors.ts';

export { SCOPES };

/** The authenticated client of a request. A verb returns only data of its tenant, or pointers that are visible by link. */
export interface Caller {
  readonly tenant: string;
  /** Id of the API key; `local` in open mode (without keys). */
  readonly keyId: string;
  /** Name of the key. The server sets it; others see it as `from`. */
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** The caller may only use channels whose names begin with this prefix. Absent: all channels of the tenant. */
  readonly channelPrefix?: string;
  /** Ids of keys that this key replaced by rotation. The caller owns what they created. */
  readonly formerKeys?: readonly string[];
  /** Set for a share link: the only thread that the caller may read. */
  readonly thread?: string;
  /** The relay itself acts for this caller and may use reserved idempotency keys. */
  readonly asRelay?: true;
}

/** A caller with the base URL at which it reaches this relay. Pointer URLs in its answers begin with this URL. */
export interface CallerAt extends Caller {
  readonly base: string;
  /** Called with the number of bytes of text that were read to extract a part or to count tokens. */
  readonly onRead?: (bytes: number) => void;
}

export type Scope = (typeof SCOPES)[number];

/** The tenant of the operator. It owns everything created in open mode, and its admins manage all tenants. */
export const RELAY_TENANT = 'local';

/** The caller in open mode (without keys). */
export const LOCAL_CALLER: Caller = { tenant: RELAY_TENANT, keyId: 'local', name: 'local', scopes: SCOPES };

/** A caller without a key. It may only read pointers that are visible by link. No tenant can have an empty name. */
export const ANONYMOUS: Caller = { tenant: '', keyId: 'anonymous', name: 'anonymous', scopes: [] };

export function isAnonymous(caller: Caller): boolean {
  return caller.tenant === ANONYMOUS.tenant;
}

/** Returns whether the caller is an admin of the whole relay, not only of one tenant or of some channels. */
export function isRelayAdmin({ tenant, scopes, channelPrefix }: Caller): boolean {
  return tenant === RELAY_TENANT && scopes.includes('admin') && channelPrefix === undefined;
}

/** Returns the tenant that a request is about: the tenant of the caller, or another one that a relay admin names. */
export function tenantOf(caller: Caller, wanted: string | undefined): string {
  if (wanted === undefined || wanted === caller.tenant) return caller.tenant;
  if (isRelayAdmin(caller)) return checkTenant(wanted);
  throw new RelayError('forbidden', { what: `The key "${caller.name}" belongs to another tenant.` });
}

/** Tenant names are part of store keys and stream names, so they contain no separator characters. */
const TENANT = /^[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?$/;

function checkTenant(tenant: unknown): string {
  if (typeof tenant === 'string' && TENANT.test(tenant)) return tenant;
  throw badRequest('A tenant is 1 to 63 lowercase letters, digits, hyphens and underscores, such as "acme".');
}
