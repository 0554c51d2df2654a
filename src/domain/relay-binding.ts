import { authorize } from '../contract/authorize.ts';
import type { Caller, CallerAt } from '../contract/caller.ts';
import { type Relay, VERBS } from '../contract/relay.ts';
import { type Api, inputOf, type Verb, type Verbs } from '../contract/verb.ts';

/** What stands behind a group of verbs: a method of the same name for each, which takes the caller first. */
export type Serves<V extends Verbs> = {
  readonly [M in keyof Api<V>]: Api<V>[M] extends (...args: infer P) => infer R
    ? (caller: CallerAt, ...args: P) => R
    : never;
};

type Part = keyof typeof VERBS;

/** Everything behind the API. What is much code and seldom needed is a function that loads it. */
export type Services = {
  readonly [P in Part]: Serves<(typeof VERBS)[P]> | (() => Promise<Serves<(typeof VERBS)[P]>>);
};

type Call = (caller: CallerAt, args: readonly unknown[]) => unknown;
type Service = { readonly [method: string]: (caller: CallerAt, ...args: readonly unknown[]) => unknown };

/** The relay as one caller sees it, made from the table: each method authorises and then calls its service. */
export function relayBinder(
  services: Services,
): (caller: Caller, base: string, onRead?: CallerAt['onRead']) => Relay {
  const parts = Object.entries(VERBS).map(([part, verbs]) => {
    const service = services[part as Part] as unknown as Service | (() => Promise<Service>);
    const methods = Object.entries(verbs as Verbs).filter(([, verb]) => !verb.only);
    return [part, methods.map(([name, verb]) => [name, guarded(verb, name, service)] as const)] as const;
  });
  return (caller, base, onRead) => {
    const at: CallerAt = { ...caller, base, onRead };
    // The store belongs to whoever opened it, not to one caller's view of it.
    const relay: { [part: string | symbol]: unknown } = { [Symbol.asyncDispose]: async () => {} };
    for (const [part, calls] of parts) {
      const api: { [method: string]: (...args: unknown[]) => unknown } = {};
      for (const [name, call] of calls) api[name] = (...args) => call(at, args);
      relay[part] = api;
    }
    return relay as unknown as Relay;
  };
}

/** The methods of a service that are verbs of a group, for a part that several services stand behind. */
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

function guarded(verb: Verb, method: string, service: Service | (() => Promise<Service>)): Call {
  const call: Call =
    typeof service !== 'function'
      ? (caller, args) => service[method]!(caller, ...args)
      : verb.streams
        ? async function* (caller, args) {
            yield* (await service())[method]!(caller, ...args) as AsyncIterable<unknown>;
          }
        : async (caller, args) => (await service())[method]!(caller, ...args);
  const ofThread = verb.args.indexOf('thread_id');
  return (caller, given) => {
    const id = given[ofThread];
    let args = typeof id === 'string' ? given.with(ofThread, id.toLowerCase()) : given;
    // Who was shown a thread by a link is no model that works with it: its looks are not counted.
    if (caller.thread !== undefined) args = unseen(verb, args);
    try {
      // Only a key that is bound to a prefix is asked on which channels, only a share link of which thread.
      const bound = caller.channelPrefix !== undefined || caller.thread !== undefined;
      authorize(caller, verb, bound ? inputOf(verb, args) : undefined);
    } catch (error) {
      if (verb.streams) throw error;
      return Promise.reject(error);
    }
    return call(caller, args);
  };
}

function unseen({ args: { length } }: Verb, given: readonly unknown[]): readonly unknown[] {
  const args = Array.from({ length: length + 1 }, (_, i) => given[i]);
  return args.with(length, { ...(given[length] as object | undefined), counted: false, dry: true });
}
