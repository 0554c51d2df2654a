import type { Json } from './json.ts';

/** A parsed JSON value, with all that is in it, made unchangeable: it can then be given to many. */
export function freeze<T extends Json>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  for (const inner of Object.values(value)) freeze(inner);
  return Object.freeze(value);
}

/**
 * `make(from)`, made once for what is frozen, as it can never come to mean something else, and anew for all else. What
 * is given beside it must be the same each time.
 */
export function madeOnce<From extends object, Beside extends readonly unknown[], Made extends object>(
  make: (from: From, ...beside: Beside) => Made,
): (from: From, ...beside: Beside) => Made {
  const made = new WeakMap<From, Made>();
  return (from, ...beside) => {
    if (!Object.isFrozen(from)) return make(from, ...beside);
    let known = made.get(from);
    if (known === undefined) {
      known = Object.freeze(make(from, ...beside));
      made.set(from, known);
    }
    return known;
  };
}
