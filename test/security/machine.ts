import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ownTextWork } from '../../src/app/store/own-text-work.ts';
import { type Env, systemEnv } from '../../src/base/env.ts';
import type { Relay } from '../../src/contract/relay.ts';
import { type CoreOptions, RelayCore } from '../../src/domain/relay-core.ts';
import { openSqlite, type SqliteEngine } from '../../src/engines/sqlite/engine.ts';
import { callerNamed } from '../channels/core.ts';

export const SECOND = 1000;
export const DAY = 24 * 3600 * SECOND;

/** A simulated process that uses the machine's store. */
export interface Process extends AsyncDisposable {
  readonly core: RelayCore;
  readonly engine: SqliteEngine;
  /** Returns the relay API for a caller. */
  as(name: string, tenant?: string): Relay;
}

/** A simulated machine with a store on disk and a clock that a test can set. A process may see a clock that is ahead. */
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

  /** Advances the clock second by second, and lets every process read it each time. */
  pass(ms: number): void {
    for (let left = ms; left > 0; left -= SECOND) {
      this.#now += Math.min(left, SECOND);
      for (const { engine } of this.#open) engine.now();
    }
  }

  /** Sets the clock forward or back in one step. */
  jump(ms: number): void {
    this.#now += ms;
  }

  async start(o: { aheadMs?: number } = {}): Promise<Process> {
    const env: Env = { ...systemEnv, now: () => this.#now + (o.aheadMs ?? 0) };
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
