import { freeze, type Json } from '../../base/json.ts';
import type { Logs } from '../../kernel/logs.ts';
import type { AddOptions, PutOptions, RecordPage, Records, Staged, Stored } from '../../kernel/records.ts';
import {
  addToCounter,
  checkDelta,
  checkExpiry,
  checkKey,
  checkLimit,
  checkScope,
  encodeJson,
} from '../../kernel/validate-input.ts';
import { Rows, type Store } from './store.ts';

interface Row {
  /**
   * Value and revision. The object is frozen and shared by all readers, as on a server, so that code that modifies a
   * record fails in tests.
   */
  readonly stored: Stored;
  readonly expiresAt: number | undefined;
}

export class MemoryRecords implements Records {
  readonly #rows: Rows<Row>;
  readonly #store: Store;
  readonly #logs: Logs;
  #lastRevision = 0;

  constructor(store: Store, logs: Logs) {
    this.#rows = new Rows(store.env);
    this.#store = store;
    this.#logs = logs;
  }

  async get(key: string): Promise<Stored | null> {
    checkKey('a key', key);
    await this.#store.hazard.pause();
    return this.#rows.get(key)?.stored ?? null;
  }

  async put(key: string, value: Json, o: PutOptions = {}): Promise<number | null> {
    checkKey('a key', key);
    checkExpiry(o.expiresAt);
    const json = encodeJson('a record', value, this.#store.limits.recordBytes);
    await this.#store.hazard.pause();
    const current = this.#rows.get(key);
    if (o.expect !== undefined && o.expect !== (current?.stored.revision ?? 'absent')) return null;
    const revision = this.#write(key, json, o.expiresAt);
    if (o.append) await this.#logs.append(o.append.stream, o.append.data, { id: o.append.id });
    return this.#acknowledged(revision);
  }

  async stage(key: string, value: Json): Promise<Staged> {
    await this.put(key, value);
    return { key };
  }

  async add(key: string, delta: number, o: AddOptions = {}): Promise<number | null> {
    checkKey('a key', key);
    checkDelta(delta);
    checkExpiry(o.expiresAt);
    await this.#store.hazard.pause();
    const row = this.#rows.get(key);
    const sum = addToCounter(row ? row.stored.value : 0, delta, o.max);
    if (sum === null) return null;
    this.#write(key, String(sum), row ? row.expiresAt : o.expiresAt);
    return this.#acknowledged(sum);
  }

  async delete(key: string, o: { expect?: number } = {}): Promise<boolean> {
    checkKey('a key', key);
    await this.#store.hazard.pause();
    const row = this.#rows.get(key);
    if (!row || (o.expect !== undefined && o.expect !== row.stored.revision)) return false;
    return this.#acknowledged(this.#rows.delete(key));
  }

  async list(prefix: string, o: { after?: string; limit?: number } = {}): Promise<RecordPage> {
    checkScope('the prefix of a listing', prefix);
    const limit = checkLimit(o.limit);
    await this.#store.hazard.pause();
    return this.#rows.page(prefix, { after: o.after, limit }, (key, { stored }) => {
      return { key, ...structuredClone(stored) };
    });
  }

  get count(): number {
    return this.#rows.all().length;
  }

  sweep(): number {
    return this.#rows.sweep().length;
  }

  #write(key: string, json: string, expiresAt: number | undefined): number {
    this.#lastRevision = this.#store.hazard.after(this.#lastRevision);
    const stored = Object.freeze({ value: freeze(JSON.parse(json)), revision: this.#lastRevision });
    this.#rows.set(key, { stored, expiresAt });
    return this.#lastRevision;
  }

  /** Delays the answer to a write, so that other tasks can see the write before its caller does. */
  async #acknowledged<T>(result: T): Promise<T> {
    await this.#store.hazard.pause();
    return result;
  }
}
