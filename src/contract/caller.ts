import { SCOPES } from '../base/enums.ts';
import { badRequest, RelayError } from '../base/errors.ts';

export { SCOPES };

/** Who is asking. What stands behind a verb takes one, and gives only what belongs to its tenant or is visible by its link. */
export interface Caller {
  readonly tenant: string;
  /** The API key's id; `local` where there are no keys. */
  readonly keyId: string;
  /** Set by the server and shown to others as `from`. */
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Only channels whose names begin with this; all of the tenant's where absent. */
  readonly channelPrefix?: string;
  /** The keys that this one took the place of: what they made is its own. */
  readonly formerKeys?: readonly string[];
  /** The holder of a share link: of this thread it may read everything, and of all else nothing. */
  readonly thread?: string;
  /** The relay itself acts for this caller, and may use idempotency keys of its own. */
  readonly asRelay?: true;
}

/** A caller, and the address at which it reaches this relay: the URLs of pointers in its answers begin with it. */
export interface CallerAt extends Caller {
  readonly base: string;
  /** Told how many bytes of texts were read for it, to take a part or to count tokens; nobody by default. */
  readonly onRead?: (bytes: number) => void;
}

export type Scope = (typeof SCOPES)[number];

/** The tenant of whoever runs the relay: everything made in open mode is its, and its admins look after all tenants. */
export const RELAY_TENANT = 'local';

/** Whoever sits at the machine, in open mode. */
export const LOCAL_CALLER: Caller = { tenant: RELAY_TENANT, keyId: 'local', name: 'local', scopes: SCOPES };

/** Nobody in particular, who holds a pointer that is visible by its link. No tenant can have this name. */
export const ANONYMOUS: Caller = { tenant: '', keyId: 'anonymous', name: 'anonymous', scopes: [] };

export function isAnonymous(caller: Caller): boolean {
  return caller.tenant === ANONYMOUS.tenant;
}

/** An admin of the relay as a whole, and not only of one tenant or of some channels. */
export function runsTheRelay({ tenant, scopes, channelPrefix }: Caller): boolean {
  return tenant === RELAY_TENANT && scopes.includes('admin') && channelPrefix === undefined;
}

/** Whose data a caller asks about: its own tenant's; an admin of the relay may name another. */
export function tenantOf(caller: Caller, wanted: string | undefined): string {
  if (wanted === undefined || wanted === caller.tenant) return caller.tenant;
  if (runsTheRelay(caller)) return checkTenant(wanted);
  throw new RelayError('forbidden', { what: `The key "${caller.name}" belongs to another tenant.` });
}

/** Part of every key and stream of the store: no character that divides those. */
const TENANT = /^[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?$/;

function checkTenant(tenant: unknown): string {
  if (typeof tenant === 'string' && TENANT.test(tenant)) return tenant;
  throw badRequest('A tenant is 1 to 63 lowercase letters, digits, hyphens and underscores, such as "acme".');
}
