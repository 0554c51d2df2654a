import type { Env } from '../../src/base/env.ts';
import type { Engine } from '../../src/kernel/engine.ts';

/** One promise of the ports, as data: it needs an engine and its clock, and nothing of the runtime around it. */
export interface Case {
  readonly name: string;
  run(engine: Engine, clock: Clock, below: Below): Promise<void>;
}

/** What can happen to a store behind the engine's back. */
export interface Below {
  /** Changes one byte of a stored body, where the next read meets it. */
  damage(key: string, offset: number): Promise<void>;
}

export interface Clock {
  now(): number;
  advance(ms: number): void;
}

/** A clock that moves when told, and the Env that an engine under test is opened with. */
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
