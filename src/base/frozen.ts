import type { Json } from './json.ts';

/** A parsed JSON value, with all that is in it, made unchangeable: it can then be given to many. */
export function freeze<T extends Json>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  for (const inner of Object.values(value)) freeze(inner);
  return Object.freeze(value);
}

/**
 * Remembers what `make` gave for a frozen `from`, which can never come to mean something else; all else is made anew. Only
 * `from` is remembered: with other arguments behind it, the answer to the first ones would come again.
 */
export function madeOnce<From extends object, Rest extends readonly unknown[], Made extends object>(
  make: (from: From, ...rest: Rest) => Made,
): (from: From, ...rest: Rest) => Made {
  const made = new WeakMap<From, Made>();
  return (from, ...rest) => {
    if (!Object.isFrozen(from)) return make(from, ...rest);
    let known = made.get(from);
    if (known === undefined) {
      known = Object.freeze(make(from, ...rest));
      made.set(from, known);
    }
    return known;
  };
}
