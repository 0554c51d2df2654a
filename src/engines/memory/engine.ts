import { type Env, systemEnv } from '../../base/env.ts';
import type { JsonObject } from '../../base/json.ts';
import { DeferredWork, type Engine, type EngineLimits } from '../../kernel/engine.ts';
import { queryTerms, rankPassages } from '../../kernel/passages.ts';
import type { Hit, SearchIndex } from '../../kernel/search-index.ts';
import { checkKey, checkLimit, checkScope } from '../../kernel/validate-input.ts';
import { MemoryBlobs } from './blobs.ts';
import { MemoryLogs } from './logs.ts';
import { MemoryRecords } from './records.ts';
import { createHazard, type Hazard } from './store.ts';

/** Limits of this engine. They are small, so that tests find code that exceeds the limits of another engine. */
const LIMITS: EngineLimits = {
  recordBytes: 64 * 1024,
  entryBytes: 64 * 1024,
  blobBytes: 64 * 1024 * 1024,
  durability: 'none',
};

export interface MemoryEngine extends Engine {
  /** Flips one bit of a stored body. */
  damage(key: string, offset: number): void;
}

/**
 * Opens an in-memory engine for tests, which guarantees only what the ports guarantee. Sequence numbers and revisions
 * have gaps unless `gaps` is false. Every call yields to other tasks before its work, and most writes yield again
 * after it. Bodies are copied, and come whole or in pieces of random length.
 */
export function openMemory(o: { env?: Env; gaps?: boolean } = {}): MemoryEngine {
  const env = o.env ?? systemEnv;
  const hazard = createHazard(env, o.gaps ?? true);
  const store = { env, hazard, limits: LIMITS };
  const blobs = new MemoryBlobs(store);
  const logs = new MemoryLogs(store);
  const records = new MemoryRecords(store, logs);
  const deferred = new DeferredWork();
  const index = new MemorySearchIndex(hazard);
  return {
    blobs,
    records,
    logs,
    index,
    limits: LIMITS,
    now: () => env.now(),
    defer: (work, afterMs) => deferred.defer(work, afterMs),
    damage: (key, offset) => blobs.damage(key, offset),
    async sweep() {
      await hazard.pause();
      return { ...blobs.sweep(), records: records.sweep() };
    },
    async usage() {
      await hazard.pause();
      return { blobs: blobs.usage, records: records.count, entries: logs.count, diskBytes: 0 };
    },
    state: async () => ({ engine: 'memory', replicas: 1, warnings: [] }),
    async [Symbol.asyncDispose]() {
      await deferred.settle();
      logs.close();
    },
  };
}

class MemorySearchIndex implements SearchIndex {
  readonly #rows = new Map<string, { readonly text: string; readonly fields: string }>();
  readonly #hazard: Hazard;

  constructor(hazard: Hazard) {
    this.#hazard = hazard;
  }

  async put(key: string, text: string, fields: JsonObject): Promise<void> {
    checkKey('a key', key);
    const row = { text: text.toWellFormed().replace(/[\u0002\u0003]/g, ''), fields: JSON.stringify(fields) };
    await this.#hazard.pause();
    this.#rows.set(key, row);
  }

  async remove(...keys: string[]): Promise<void> {
    for (const key of keys) checkKey('a key', key);
    await this.#hazard.pause();
    for (const key of keys) this.#rows.delete(key);
  }

  async search(scope: string, query: string, o: { limit?: number } = {}): Promise<Hit[]> {
    checkScope('the scope of a search', scope);
    const limit = checkLimit(o.limit);
    await this.#hazard.pause();
    const within = [...this.#rows].filter(([key]) => key.startsWith(scope));
    const candidates = within.map(([key, { text, fields }]) => ({ key, text, fields: JSON.parse(fields) }));
    return rankPassages(candidates, queryTerms(query), limit);
  }
}
