import type { Env } from '../../src/base/env.ts';
import type { Engine } from '../../src/kernel/engine.ts';

/**
 * One rule of the ports as a test case. It needs only an engine and its clock, not a test runner or runtime.
 */
export interface Case {
  readonly name: string;
  run(engine: Engine, clock: Clock, below: Below): Promise<void>;
}

/** Access below the engine, with which a case damages the store. */
export interface Below {
  /** Changes one byte of a stored body, so that the next read detects the damage. */
  damage(key: string, offset: number): Promise<void>;
}

export interface Clock {
  now(): number;
  advance(ms: number): void;
}

/** A clock that the case advances, and the Env for the engine under test. */
export function manualClock(start = Date.UTC(2026, 0, 1)): Clock & { readonly env: Env } {
  let now = start;
  return {
    now: () => now,
    advance(ms) {
      now += ms;
    },
    env: { now: () => now, randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)) },
  };
}
