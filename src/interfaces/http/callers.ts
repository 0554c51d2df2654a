import type { Context, Hono } from 'hono';
import { isRelayError, RelayError } from '../../base/errors.ts';
import { percentDecoded } from '../../base/utf8.ts';
import { authorize } from '../../contract/authorize.ts';
import { ANONYMOUS, type Caller, type CallerAt, isAnonymous, LOCAL_CALLER } from '../../contract/caller.ts';
import type { Relay } from '../../contract/relay.ts';
import { routeOf, type Verb } from '../../contract/verb.ts';
import type { Keys } from '../../domain/keys/keys.ts';
import { isShareToken } from '../../domain/keys/secrets.ts';
import type { CallerContext } from '../protocol.ts';
import type { HttpDeps } from './deps.ts';
import { notesOf } from './request-watch.ts';

/**
 * Registers a handler for the route of a verb. The handler gets the relay with the caller's rights. `paths`
 * replaces the path of the verb.
 */
export type Serve = (
  verb: Verb,
  handler: (relay: Relay, c: Context) => Promise<Response>,
  paths?: string[],
) => void;

/**
 * Returns the function that registers handlers. A request is authenticated, rate-limited and authorized
 * before its body is read and its handler runs.
 */
export function createServe(api: Hono, deps: HttpDeps): Serve {
  // Cache the relay of the last request. In open mode, almost all requests have the same caller.
  let last: {
    caller: Caller;
    agent: string | null;
    base: string;
    address: string;
    relay: Relay;
  } | null = null;
  return (verb, handler, paths) => {
    const { method, path } = routeOf(verb);
    const methods = verb.alsoBy ? [method, verb.alsoBy] : [method];
    api.on(methods, paths ?? [path], async (c) => {
      notesOf(c).operation = verb;
      const caller = await callerOf(deps, c);
      authorize(caller, verb);
      const base = baseOf(deps, c);
      const address = deps.limiter ? notesOf(c).client.address : '';
      const agent = notesOf(c).header('relay-agent');
      const isSame = last?.caller === caller && last.agent === agent;
      if (!last || !isSame || last.base !== base || last.address !== address) {
        const relay = deps.core.relay(
          namedCaller(deps, caller, agent),
          base,
          chargeReads(deps, caller, address),
        );
        last = { caller, agent, base, address, relay };
      }
      return handler(last.relay, c);
    });
  };
}

/**
 * Authenticates and rate-limits a request of another protocol, such as MCP. Rejects anonymous callers and
 * share links.
 */
export async function authenticateProtocol(deps: HttpDeps, c: Context): Promise<CallerContext> {
  notesOf(c).operation = { name: c.req.path.split('/')[1] ?? 'other' };
  const base = baseOf(deps, c);
  const caller = namedCaller(deps, await callerOf(deps, c), notesOf(c).header('relay-agent'));
  if (isAnonymous(caller)) throw new RelayError('unauthorized');
  if (caller.thread !== undefined)
    throw new RelayError('forbidden', {
      what: 'A share link can only read its own thread.',
      hint: 'For anything else, use an API key.',
    });
  const onRead = chargeReads(deps, caller, notesOf(c).client.address);
  return { caller, base, relay: deps.core.relay(caller, base, onRead), onRead };
}

/** Returns the caller with the agent's name from the header `Relay-Agent`, which is percent-encoded. */
export function namedCaller(
  { core }: Pick<HttpDeps, 'core'>,
  caller: Caller,
  agent: string | null | undefined,
) {
  return core.actingAs(caller, agent && (percentDecoded(agent) ?? agent));
}

/** Returns a callback that charges the bytes read for a caller to the caller's rate limit. */
function chargeReads({ limiter }: HttpDeps, caller: Caller, address: string): CallerAt['onRead'] {
  return limiter && ((bytes) => limiter.charge(caller, address, bytes));
}

/**
 * Returns a function that authenticates by API key. Without a key, the caller is ANONYMOUS. An invalid key
 * throws `unauthorized`.
 */
export function keyAuthenticator(keys: Keys): HttpDeps['authenticate'] {
  return (authorization) =>
    authorization === null ? ANONYMOUS : authenticateSecret(keys, BEARER.exec(authorization)?.[1]);
}

/**
 * Returns a function that authenticates in open mode: a share token limits the caller to one thread, and all
 * others may do everything.
 */
export function openAuthenticator(keys: Keys): HttpDeps['authenticate'] {
  return (authorization) => {
    const token = authorization === null ? undefined : BEARER.exec(authorization)?.[1];
    return token === undefined || !isShareToken(token) ? LOCAL_CALLER : authenticateSecret(keys, token);
  };
}

async function authenticateSecret(keys: Keys, secret: string | undefined): Promise<Caller> {
  const caller = secret === undefined ? null : await keys.authenticate(secret);
  if (caller === null) throw new RelayError('unauthorized');
  return caller;
}

const BEARER = /^bearer +(\S+) *$/i;

/** Authenticates a request and applies the rate limit. */
async function callerOf(deps: HttpDeps, c: Context): Promise<Caller> {
  const notes = notesOf(c);
  let caller: Caller;
  try {
    caller = await deps.authenticate(notes.header('authorization'));
  } catch (error) {
    // Count failed authentications by address in the rate limiter, so that nobody can guess API keys quickly.
    if (isRelayError(error, 'unauthorized')) await deps.limiter?.check(null, notes.client.address);
    throw error;
  }
  if (deps.limiter) await deps.limiter.check(caller, notes.client.address);
  notes.caller = caller;
  return caller;
}

/**
 * Returns the base URL of pointers: the public URL if it is configured, otherwise the address that the client
 * used.
 */
export function baseOf(deps: HttpDeps, c: Context): string {
  if (deps.publicUrl !== null) return deps.publicUrl;
  const { url } = c.req;
  const origin = deps.trustsProxies ? notesOf(c).client.origin : null;
  return origin ?? url.slice(0, url.indexOf('/', url.indexOf('//') + 2));
}
