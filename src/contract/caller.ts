import { SCOPES } from '../base/enums.ts';
import { badRequest, RelayError } from '../base/errors.ts';
import { AGENT_NAME_CHARS } from '../base/limits.ts';

export { SCOPES };

/**
 * The authenticated client of a request. A verb returns only data of the caller's tenant, and pointers that anyone
 * with the link may read.
 */
export interface Caller {
  readonly tenant: string;
  /** Id of the API key; `local` in open mode (without API keys). */
  readonly keyId: string;
  /** Name of the API key, which the server sets. Other clients see it as `from`. */
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Name of the agent, as the client states it. Set only with an API key. Nothing verifies it. */
  readonly agent?: string;
  /** Prefix of the channel names that the caller may use. Absent if the caller may use all channels of the tenant. */
  readonly channelPrefix?: string;
  /** Ids of earlier API keys that were rotated into this one. What they created belongs to the caller. */
  readonly formerKeys?: readonly string[];
  /** For a share link: the only thread that the caller may read. */
  readonly thread?: string;
  /** Set if the relay itself acts for this caller and may use reserved idempotency keys. */
  readonly asRelay?: true;
}

/** A caller with the base URL at which it reaches this relay. Pointer URLs in answers begin with this base URL. */
export interface CallerAt extends Caller {
  readonly base: string;
  /** Called with the number of bytes of text that were read to extract a part or to count tokens. */
  readonly onRead?: (bytes: number) => void;
}

export type Scope = (typeof SCOPES)[number];

/** Scopes of a new key if its creator names none. */
export const DEFAULT_SCOPES: readonly Scope[] = SCOPES.filter(
  (scope) => !['answer', 'admin'].includes(scope),
);

/** The tenant of the operator. What is created in open mode belongs to it. Its admins manage all tenants. */
export const RELAY_TENANT = 'local';

/** The caller in open mode (without API keys). */
export const LOCAL_CALLER: Caller = { tenant: RELAY_TENANT, keyId: 'local', name: 'local', scopes: SCOPES };

/**
 * Returns the caller with the agent name that its client states. Without API keys, the agent name becomes the name of
 * the caller, under which it sends. With API keys, the caller keeps the name of the key, and the agent name is a
 * second, unverified field. Callers with a share link and anonymous callers stay unchanged.
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
 * A caller without an API key, who may only read pointers that anyone with the link may read. No real tenant has an
 * empty name.
 */
export const ANONYMOUS: Caller = { tenant: '', keyId: 'anonymous', name: 'anonymous', scopes: [] };

export function isAnonymous(caller: Caller): boolean {
  return caller.tenant === ANONYMOUS.tenant;
}

/** Returns whether the caller is an admin of the whole relay, not only of a tenant or of some channels. */
export function isRelayAdmin({ tenant, scopes, channelPrefix }: Caller): boolean {
  return tenant === RELAY_TENANT && scopes.includes('admin') && channelPrefix === undefined;
}

/**
 * Returns the tenant that a request is about: the caller's, or `tenant` if the caller is a relay admin.
 */
export function tenantOf(caller: Caller, tenant: string | undefined): string {
  if (tenant === undefined || tenant === caller.tenant) return caller.tenant;
  if (isRelayAdmin(caller)) return checkTenant(tenant);
  throw new RelayError('forbidden', { what: `The key "${caller.name}" belongs to another tenant.` });
}

/** Allowed form of a tenant name. It contains no separators, because it is part of store keys and stream names. */
const TENANT = /^[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?$/;

function checkTenant(tenant: unknown): string {
  if (typeof tenant === 'string' && TENANT.test(tenant)) return tenant;
  throw badRequest('A tenant is 1 to 63 lowercase letters, digits, hyphens and underscores, such as "acme".');
}
