import type { Env } from '../../base/env.ts';
import type { EngineLimits } from '../../kernel/engine.ts';
import { compareKeys } from '../../kernel/validate-input.ts';

/** One in this many calls waits for a whole turn of the event loop, so that timers and sockets run too. */
const TURN_EVERY = 64;

/** Source of random delays, gaps and lengths. They make this engine behave as badly as the ports allow. */
export interface Hazard {
  /** Yields to other tasks for a short random time. */
  pause(): Promise<void>;
  /** Returns a number after `last`, sometimes with a gap. */
  after(last: number): number;
  /** Returns a random number from 1 to `max`. */
  upTo(max: number): number;
}

/** Objects that the parts of the engine share. */
export interface Store {
  readonly env: Env;
  readonly hazard: Hazard;
  readonly limits: EngineLimits;
}

/** Creates a hazard from the random bytes of `env`. Without `gaps`, numbers are consecutive. */
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

/** Rows by key. Expired rows are invisible. */
export class Rows<Row extends { readonly expiresAt: number | undefined }> {
  readonly #rows = new Map<string, Row>();
  readonly #env: Env;

  constructor(env: Env) {
    this.#env = env;
  }

  get(key: string): Row | undefined {
    const row = this.#rows.get(key);
    return row && (row.expiresAt === undefined || row.expiresAt > this.#env.now()) ? row : undefined;
  }

  set(key: string, row: Row): void {
    this.#rows.set(key, row);
  }

  delete(key: string): boolean {
    return this.#rows.delete(key);
  }

  /** Returns all rows, including expired ones. */
  all(): Row[] {
    return [...this.#rows.values()];
  }

  /** Returns a page of the rows whose keys start with the prefix and sort after `after`, in key order. */
  page<Item extends { readonly key: string }>(
    prefix: string,
    o: { after: string | undefined; limit: number },
    toItem: (key: string, row: Row) => Item,
  ): { items: Item[]; next?: string } {
    const behind = (key: string) => o.after === undefined || compareKeys(key, o.after) > 0;
    const keys = [...this.#rows.keys()].filter(
      (key) => key.startsWith(prefix) && behind(key) && this.get(key),
    );
    const items = keys.sort(compareKeys).slice(0, o.limit);
    const page = { items: items.map((key) => toItem(key, this.#rows.get(key)!)) };
    return keys.length > o.limit ? { ...page, next: items.at(-1)! } : page;
  }

  /** Deletes the expired rows and returns them. */
  sweep(): Row[] {
    const expired = [...this.#rows].filter(([key]) => !this.get(key));
    for (const [key] of expired) this.#rows.delete(key);
    return expired.map(([, row]) => row);
  }
}
