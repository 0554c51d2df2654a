import { SCOPES } from '../base/enums.ts';
import { badRequest, RelayError } from '../base/errors.ts';
import { AGENT_NAME_CHARS } from '../base/limits.ts';

export { SCOPES };

/**
 * The authenticated client of a request. A verb returns only data of the caller's tenant, or pointers that
 * anyone with the link may read.
 */
export interface Caller {
  readonly tenant: string;
  /** Id of the API key. It is `local` in open mode (without API keys). */
  readonly keyId: string;
  /** Name of the API key. The server sets it. Other clients see it as `from`. */
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Name of the agent, as the client states it. Only with an API key, where nothing verifies it. */
  readonly agent?: string;
  /** The caller may only use channels whose names begin with this prefix. Absent: all channels of the tenant. */
  readonly channelPrefix?: string;
  /**
   * Ids of API keys that this API key replaced by rotation. What these keys created belongs to the caller.
   */
  readonly formerKeys?: readonly string[];
  /** Set for a share link: the only thread that the caller may read. */
  readonly thread?: string;
  /** Set if the relay itself acts for this caller. It may then use reserved idempotency keys. */
  readonly asRelay?: true;
}

/**
 * A caller, with the base URL at which the caller reaches this relay. Pointer URLs in the answers begin with
 * this base URL.
 */
export interface CallerAt extends Caller {
  readonly base: string;
  /** Called with the number of bytes of text that were read to extract a part or to count tokens. */
  readonly onRead?: (bytes: number) => void;
}

export type Scope = (typeof SCOPES)[number];

/**
 * The tenant of the operator. Everything that is created in open mode belongs to it. Its admins manage all
 * tenants.
 */
export const RELAY_TENANT = 'local';

/** The caller in open mode (without API keys). */
export const LOCAL_CALLER: Caller = { tenant: RELAY_TENANT, keyId: 'local', name: 'local', scopes: SCOPES };

/**
 * Returns the caller with the name of the agent that the client states. This is the one place that decides
 * who sent something. Without API keys, the agent is the sender. With API keys, the name of the key stays the
 * sender, and the agent is a second, unverified field.
 */
export function actingAs(caller: Caller, agent: string | null | undefined, open: boolean): Caller {
  if (!agent || agent === caller.name || isAnonymous(caller) || caller.thread !== undefined) return caller;
  if (/\p{Cc}/u.test(agent) || [...agent].length > AGENT_NAME_CHARS)
    throw badRequest(
      `The name of the agent must have at most ${AGENT_NAME_CHARS} characters and no control characters.`,
    );
  return open ? { ...caller, name: agent } : { ...caller, agent };
}

/** Returns the fields that name the sender of a message or pointer. */
export function sentBy({ name, agent }: Pick<Caller, 'name' | 'agent'>): { from: string; agent?: string } {
  return { from: name, ...(agent === undefined ? {} : { agent }) };
}

/** Returns the fields that name the caller in activity and receipts. */
export function doneBy({ name, agent }: Pick<Caller, 'name' | 'agent'>): { by: string; by_agent?: string } {
  return { by: name, ...(agent === undefined ? {} : { by_agent: agent }) };
}

/**
 * A caller without an API key. It may only read pointers that anyone with the link may read. No real tenant
 * has an empty name.
 */
export const ANONYMOUS: Caller = { tenant: '', keyId: 'anonymous', name: 'anonymous', scopes: [] };

export function isAnonymous(caller: Caller): boolean {
  return caller.tenant === ANONYMOUS.tenant;
}

/** Returns whether the caller is an admin of the whole relay, not only of one tenant or of some channels. */
export function isRelayAdmin({ tenant, scopes, channelPrefix }: Caller): boolean {
  return tenant === RELAY_TENANT && scopes.includes('admin') && channelPrefix === undefined;
}

/**
 * Returns the tenant that a request is about: the tenant of the caller, or the tenant that a relay admin
 * names in `wanted`.
 */
export function tenantOf(caller: Caller, wanted: string | undefined): string {
  if (wanted === undefined || wanted === caller.tenant) return caller.tenant;
  if (isRelayAdmin(caller)) return checkTenant(wanted);
  throw new RelayError('forbidden', { what: `The key "${caller.name}" belongs to another tenant.` });
}

/**
 * Allowed form of a tenant name. Tenant names are part of store keys and stream names, so they contain no
 * separator characters.
 */
const TENANT = /^[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?$/;

function checkTenant(tenant: unknown): string {
  if (typeof tenant === 'string' && TENANT.test(tenant)) return tenant;
  throw badRequest('A tenant is 1 to 63 lowercase letters, digits, hyphens and underscores, such as "acme".');
}
