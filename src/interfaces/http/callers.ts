import type { Context, Hono } from 'hono';
import { isRelayError, RelayError } from '../../base/errors.ts';
import { authorize } from '../../contract/authorize.ts';
import { ANONYMOUS, type Caller } from '../../contract/caller.ts';
import type { Relay } from '../../contract/relay.ts';
import { routeOf, type Verb } from '../../contract/verb.ts';
import type { Keys } from '../../domain/keys/keys.ts';
import type { HttpDeps } from './deps.ts';
import type { Noted, RequestNotes } from './request-notes.ts';

/** What is known of the request that a handler was given. */
export function notesOf(c: Context): RequestNotes {
  return (c.env as Noted).notes;
}

/** The relay as the caller of a request sees it, once its key was found to have the scope of the verb. */
export type RelayOf = (c: Context, verb: Verb) => Relay | Promise<Relay>;

/** Every request passes here before its body is read: who asks, how often, and whether that key may. */
export function relayMaker(deps: HttpDeps): RelayOf {
  // In open mode it is the same one over and over.
  let last: { caller: Caller; base: string; relay: Relay } | null = null;
  const relayFor = (c: Context, verb: Verb, caller: Caller): Relay => {
    authorize(caller, verb);
    const base = baseOf(deps, c);
    if (last?.caller !== caller || last.base !== base)
      last = { caller, base, relay: deps.core.relay(caller, base) };
    return last.relay;
  };
  return (c, verb) => {
    notesOf(c).operation = verb;
    const caller = callerOf(deps, c);
    if (caller instanceof Promise) return caller.then((found) => relayFor(c, verb, found));
    return relayFor(c, verb, caller);
  };
}

/** Serves the route of a verb, where its row says, with a handler that is given the relay as the caller sees it. */
export type Serve = (verb: Verb, handler: (relay: Relay, c: Context) => Promise<Response>) => void;

export function serverOn(api: Hono, relayOf: RelayOf): Serve {
  return (verb, handler) => {
    const { method, path } = routeOf(verb);
    api.on(method, path, (c) => {
      const relay = relayOf(c, verb);
      return relay instanceof Promise ? relay.then((found) => handler(found, c)) : handler(relay, c);
    });
  };
}

/** Who sends a request: the holder of the key, or nobody in particular. Throws for a key that is no good. */
export function keyAuthenticator(keys: Keys): (request: Request) => Promise<Caller> {
  return async (request) => {
    const header = request.headers.get('authorization');
    if (header === null) return ANONYMOUS;
    const secret = /^bearer +(\S+) *$/i.exec(header)?.[1];
    const caller = secret === undefined ? null : await keys.authenticate(secret);
    if (caller === null) throw new RelayError('unauthorized');
    return caller;
  };
}

/** Who sent a request, if they do not send too many. */
export function callerOf(deps: HttpDeps, c: Context): Caller | Promise<Caller> {
  const found = deps.authenticate(c.req.raw);
  const noted = (caller: Caller): Caller => {
    notesOf(c).caller = caller;
    return caller;
  };
  if (!deps.limiter) return found instanceof Promise ? found.then(noted) : noted(found);
  return limited(deps, c, found).then(noted);
}

/** Where pointers can be reached, as whoever sent the request reaches the relay. */
export function baseOf(deps: HttpDeps, c: Context): string {
  if (deps.publicUrl !== null) return deps.publicUrl;
  return (deps.trustsProxies ? notesOf(c).client.origin : null) ?? originOf(c.req.url);
}

async function limited(deps: HttpDeps, c: Context, found: Caller | Promise<Caller>): Promise<Caller> {
  const address = notesOf(c).client.address;
  let caller: Caller;
  try {
    caller = await found;
  } catch (error) {
    // Whoever tries keys out is counted by address.
    if (isRelayError(error, 'unauthorized')) await deps.limiter!.check(null, address);
    throw error;
  }
  await deps.limiter!.check(caller, address);
  return caller;
}

function originOf(url: string): string {
  return url.slice(0, url.indexOf('/', url.indexOf('//') + 2));
}
