import { abortable } from './http-client.ts';
import type { CallOptions } from './options.ts';

/**
 * An API group whose methods also accept a `signal`. The signal is a field of the last argument, or of an
 * additional argument.
 */
export type WithSignal<Api> = {
  readonly [M in keyof Api]: Api[M] extends (...args: infer P) => Promise<infer R>
    ? (...args: [...P, options?: CallOptions]) => Promise<R>
    : Api[M];
};

/** Methods that return an endless stream. They handle their signal themselves. */
const STREAMS: ReadonlySet<string | symbol> = new Set(['subscribe', 'watch']);

/**
 * Returns an API group whose methods accept a `signal`. `apiFor(signal)` must return the same API, with requests that
 * the signal aborts.
 */
export function withSignal<Api extends object>(
  api: Api,
  apiFor: (signal: AbortSignal) => Api,
): WithSignal<Api> {
  const get = (target: Api, name: string | symbol) => {
    const method: unknown = Reflect.get(target, name);
    if (typeof method !== 'function' || STREAMS.has(name)) return method;
    return (...args: unknown[]) => {
      const last = args.at(-1);
      if (!hasSignal(last)) return method.apply(target, args);
      const { signal, ...options } = last;
      const rest = [...args.slice(0, -1), ...(Object.keys(options).length > 0 ? [options] : [])];
      if (!signal) return method.apply(target, rest);
      const limited = apiFor(signal);
      const call = Reflect.get(limited, name) as (...args: unknown[]) => Promise<unknown>;
      return abortable(call.apply(limited, rest), signal, String(name));
    };
  };
  return new Proxy(api, { get }) as WithSignal<Api>;
}

/**
 * Returns whether the value is an object with options that contain a signal. A published message may also
 * have a field `signal`, but then it is no AbortSignal.
 */
function hasSignal(value: unknown): value is CallOptions {
  if (typeof value !== 'object' || value === null || !('signal' in value)) return false;
  return value.signal === undefined || value.signal instanceof AbortSignal;
}
