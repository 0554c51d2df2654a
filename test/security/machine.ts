import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ownTextWork } from '../../src/app/store/own-text-work.ts';
import { type Env, systemEnv } from '../../src/base/env.ts';
import { LOCAL_CALLER } from '../../src/contract/caller.ts';
import type { Relay } from '../../src/contract/relay.ts';
import { type CoreOptions, RelayCore } from '../../src/domain/relay-core.ts';
import { openSqlite, type SqliteEngine } from '../../src/engines/sqlite/engine.ts';
import { callerNamed } from '../channels/core.ts';

export const SECOND = 1000;
export const HOUR = 3600 * SECOND;
export const DAY = 24 * HOUR;

/** A process on the machine's store. */
export interface Process extends AsyncDisposable {
  readonly core: RelayCore;
  readonly engine: SqliteEngine;
  /** What somebody on it has in hand. */
  as(name: string, tenant?: string): Relay;
}

/** One machine: a store on its disk, and a clock that all its processes go by and that a test can set. */
export class Machine implements AsyncDisposable {
  readonly home = mkdtempSync(join(tmpdir(), 'relay-clocks-'));
  readonly #options: CoreOptions;
  readonly #open = new Set<Process>();
  #now = Date.UTC(2026, 10, 20, 12);

  constructor(options: CoreOptions = {}) {
    this.#options = options;
  }

  get now(): number {
    return this.#now;
  }

  /** Time goes on, second by second, as it does for a process that looks at the clock now and then. */
  pass(ms: number): void {
    for (let left = ms; left > 0; left -= SECOND) {
      this.#now += Math.min(left, SECOND);
      for (const { engine } of this.#open) engine.now();
    }
  }

  /** Somebody sets the clock. */
  jump(ms: number): void {
    this.#now += ms;
  }

  async start(): Promise<Process> {
    const env: Env = { ...systemEnv, now: () => this.#now };
    const engine = await openSqlite({ home: this.home, env, durability: 'process', role: 'server' });
    const core = new RelayCore({ engine, env, texts: ownTextWork }, this.#options);
    const process: Process = {
      core,
      engine,
      as: (name, tenant) => core.relay(callerNamed(name, tenant), 'http://relay.test'),
      [Symbol.asyncDispose]: async () => {
        if (!this.#open.delete(process)) return;
        await core.close();
        await engine[Symbol.asyncDispose]();
      },
    };
    this.#open.add(process);
    return process;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const process of this.#open) await process[Symbol.asyncDispose]();
    rmSync(this.home, { recursive: true, force: true });
  }
}

/** Whoever runs the relay. */
export const OPERATOR = LOCAL_CALLER;
