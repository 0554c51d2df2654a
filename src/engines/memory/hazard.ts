import type { Env } from '../../base/env.ts';
import type { EngineLimits } from '../../kernel/engine.ts';

/** One call in so many waits for a whole turn of the loop, so that timers and sockets get in between as well. */
const TURN_EVERY = 64;

/** What makes this engine as unpleasant as the worst that a port allows. */
export interface Hazard {
  /** Lets others run, for a moment of random length. */
  pause(): Promise<void>;
  /** The number after `last`, or one further on. */
  after(last: number): number;
  /** From 1 to `max`. */
  upTo(max: number): number;
}

/** What the parts of the engine share. */
export interface Store {
  readonly env: Env;
  readonly hazard: Hazard;
  readonly limits: EngineLimits;
}

export function createHazard(env: Env, gaps: boolean): Hazard {
  let pool = new Uint8Array(0);
  let used = 0;
  const byte = (): number => {
    if (used >= pool.length) {
      pool = env.randomBytes(256);
      used = 0;
    }
    return pool[used++]!;
  };
  return {
    async pause() {
      const chance = byte();
      if (chance % TURN_EVERY === 0) await new Promise((resolve) => setTimeout(resolve, 0));
      for (let i = chance % 4; i >= 0; i--) await null;
    },
    after: (last) => last + 1 + (gaps ? byte() % 4 : 0),
    upTo: (max) => 1 + (((byte() << 8) | byte()) % max),
  };
}
