import type { Context } from 'hono';
import { routePath } from 'hono/route';
import { isRelayError } from '../../base/errors.ts';
import type { Caller } from '../../domain/caller.ts';
import type { Relay } from '../../domain/relay.ts';
import type { Operation } from '../../operations/operation.ts';
import { admit } from './auth.ts';
import type { HttpDeps } from './deps.ts';
import { notesOf } from './request-notes.ts';

/** The relay as the caller of a request sees it, once the caller has been found to be allowed that. */
export type RelayOf = (c: Context, operation?: Operation) => Relay | Promise<Relay>;

/**
 * Every request passes here before it reaches the domain: who asks, how often, and whether that key may. A route that is
 * not in the table of operations has nobody to say what it asks for, and is an error.
 */
export function relayMaker(deps: HttpDeps, operations: readonly Operation[]): RelayOf {
  const byRoute = routeTable(operations);
  // In open mode it is the same one over and over.
  let last: { caller: Caller; base: string; relay: Relay } | null = null;
  const relayFor = (c: Context, operation: Operation, caller: Caller): Relay => {
    admit(caller, operation);
    const base = baseOf(deps, c);
    if (last?.caller !== caller || last.base !== base)
      last = { caller, base, relay: deps.house.relay(caller, base) };
    return last.relay;
  };
  return (c, known) => {
    const operation = known ?? byRoute(c.req.method, routePath(c));
    const notes = notesOf(c);
    if (notes) notes.operation = operation;
    const caller = callerOf(deps, c);
    if (caller instanceof Promise) return caller.then((found) => relayFor(c, operation, found));
    return relayFor(c, operation, caller);
  };
}

/** Who sent a request, if they do not send too many. */
export function callerOf(deps: HttpDeps, c: Context): Caller | Promise<Caller> {
  const found = deps.authenticate(c.req.raw);
  const noted = (caller: Caller): Caller => {
    const notes = notesOf(c);
    if (notes) notes.caller = caller;
    return caller;
  };
  if (!deps.limiter) return found instanceof Promise ? found.then(noted) : noted(found);
  return limited(deps, c, found).then(noted);
}

/** Where pointers can be reached, as whoever sent the request reaches the relay. */
export function baseOf(deps: HttpDeps, c: Context): string {
  if (deps.publicUrl !== null) return deps.publicUrl;
  return (deps.trustsProxies ? notesOf(c)?.client.origin : null) ?? originOf(c.req.url);
}

async function limited(deps: HttpDeps, c: Context, found: Caller | Promise<Caller>): Promise<Caller> {
  const address = notesOf(c)?.client.address ?? 'unknown';
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

/** Finds the row of a route, whatever the handler calls its parameters. */
function routeTable(operations: readonly Operation[]): (method: string, path: string) => Operation {
  const plain = (path: string) => path.replace(/:\w+/g, ':');
  const table = new Map<string, Operation>();
  for (const operation of operations) {
    const { method, path } = operation.http;
    table.set(`${method} ${plain(path)}`, operation);
    table.set(`${method} /v1${plain(path)}`, operation);
  }
  const known = new Map<string, Operation>();
  return (asked, path) => {
    const method = asked === 'HEAD' ? 'GET' : asked;
    const route = `${method} ${path}`;
    const operation = known.get(route) ?? table.get(`${method} ${plain(path)}`);
    if (!operation) throw new Error(`${route} is not in the table of operations.`);
    known.set(route, operation);
    return operation;
  };
}

function originOf(url: string): string {
  return url.slice(0, url.indexOf('/', url.indexOf('//') + 2));
}
