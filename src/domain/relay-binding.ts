import { badRequest } from '../base/errors.ts';
import { isOwnKey } from '../base/ids.ts';
import { authorize } from '../contract/authorize.ts';
import type { Caller, CallerAt } from '../contract/caller.ts';
import type { PushInput } from '../contract/pointers.ts';
import { type Relay, VERBS } from '../contract/relay.ts';
import { type Api, inputOf, type Verb, type Verbs } from '../contract/verb.ts';

/**
 * Type of the service for a group of verbs. It has one method per verb. The first parameter of each method is
 * the caller.
 */
export type Serves<V extends Verbs> = {
  readonly [M in keyof Api<V>]: Api<V>[M] extends (...args: infer P) => infer R
    ? (caller: CallerAt, ...args: P) => R
    : never;
};

type Part = keyof typeof VERBS;

/** All services of the API. A service that is loaded lazily is given as a function that returns it. */
export type Services = {
  readonly [P in Part]: Serves<(typeof VERBS)[P]> | (() => Promise<Serves<(typeof VERBS)[P]>>);
};

type Service = { readonly [method: string]: (caller: CallerAt, ...args: readonly unknown[]) => unknown };
type Loadable = Service | (() => Promise<Service>);

/**
 * Returns a function that builds the relay for one caller from the table of verbs. Each method of this relay
 * authorizes the caller and then calls its service. The methods of a part of the API are built at first use: all parts
 * together have about a hundred methods, and a core that lives for one request needs only one.
 */
export function relayBinder(
  services: Services,
): (caller: Caller, base: string, onRead?: CallerAt['onRead']) => Relay {
  return (caller, base, onRead) => {
    const at: CallerAt = { ...caller, base, onRead };
    // Disposing the relay of a caller closes nothing, because the store belongs to the code that opened it.
    const relay = { [Symbol.asyncDispose]: async () => {} };
    for (const part of Object.keys(VERBS) as Part[]) {
      let api: object | undefined;
      const get = () => {
        api ??= apiOf(VERBS[part], services[part] as unknown as Loadable, at);
        return api;
      };
      Object.defineProperty(relay, part, { get, enumerable: true });
    }
    return relay as unknown as Relay;
  };
}

function apiOf(verbs: Verbs, service: Loadable, caller: CallerAt): object {
  const methods = Object.entries(verbs).filter(([, verb]) => !verb.only);
  return Object.fromEntries(methods.map(([name, verb]) => [name, guarded(verb, name, service, caller)]));
}

/**
 * Returns the methods of `service` whose names are in `verbs`, bound to the service. Used where several services
 * implement one part of the API.
 */
export function methodsFor<V extends Verbs, S extends object>(
  verbs: V,
  service: S,
): Pick<S, keyof S & keyof V> {
  const methods = Object.keys(verbs).flatMap((name) => {
    const method = service[name as keyof S] as unknown;
    return typeof method === 'function' ? [[name, method.bind(service)]] : [];
  });
  return Object.fromEntries(methods);
}

function guarded(verb: Verb, method: string, service: Loadable, caller: CallerAt) {
  const loaded = async () => (typeof service === 'function' ? service() : service);
  const call = verb.streams
    ? async function* (args: readonly unknown[]) {
        yield* (await loaded())[method]!(caller, ...args) as AsyncIterable<unknown>;
      }
    : async (args: readonly unknown[]) => (await loaded())[method]!(caller, ...args);
  const ofThread = verb.args.indexOf('thread_id');
  return (...callArgs: readonly unknown[]) => {
    const id = callArgs[ofThread];
    let args = typeof id === 'string' ? callArgs.with(ofThread, id.toLowerCase()) : callArgs;
    // A person, not a model, uses a share link. So its reads are left out of the token counts of models.
    if (caller.thread !== undefined) args = withoutCounting(verb, args);
    try {
      // The input is needed only for two kinds of callers: an API key with a channel prefix is checked for
      // its channels, and a share link is checked for its thread.
      const bound = caller.channelPrefix !== undefined || caller.thread !== undefined;
      authorize(caller, verb, bound ? inputOf(verb, args) : undefined);
      if (!caller.asRelay && args.some(hasOwnKey))
        throw badRequest('An idempotency key cannot start with the control character U+001F.');
    } catch (error) {
      if (verb.streams) throw error;
      return Promise.reject(error);
    }
    return call(args);
  };
}

function hasOwnKey(arg: unknown): boolean {
  return typeof arg === 'object' && arg !== null && isOwnKey((arg as PushInput).idempotency_key);
}

function withoutCounting({ args: { length } }: Verb, callArgs: readonly unknown[]): readonly unknown[] {
  const args = Array.from({ length: length + 1 }, (_, i) => callArgs[i]);
  return args.with(length, { ...(callArgs[length] as object | undefined), counted: false, dry: true });
}
