/** A random generator that gives the same numbers in every run. */
export interface Random {
  /** An integer from `from` to `to`, both included. */
  int(from: number, to: number): number;
  pick<T>(of: readonly T[]): T;
  hex(digits: number): string;
}

export function random(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const int = (from: number, to: number) => from + Math.floor(next() * (to - from + 1));
  return {
    int,
    pick: (of) => of[int(0, of.length - 1)]!,
    hex: (digits) => Array.from({ length: digits }, () => int(0, 15).toString(16)).join(''),
  };
}
