import { isRelayError } from '../../base/errors.ts';
import { freeze, type Json } from '../../base/json.ts';
import type { Logs } from '../../kernel/logs.ts';
import type { ExportedRecord } from '../../kernel/moving.ts';
import {
  type AddOptions,
  compareAndSet,
  type PutOptions,
  type RecordItem,
  type RecordPage,
  type Records,
  type Staged,
  type Stored,
} from '../../kernel/records.ts';
import {
  addToCounter,
  checkDelta,
  checkExpiry,
  checkKey,
  checkLimit,
  checkScope,
  encodeJson,
} from '../../kernel/validate-input.ts';
import type { Message } from './connection.ts';
import { Listing } from './listing.ts';
import { keyOf, subjectOf } from './messages.ts';
import { type Store, ttlOf } from './opening.ts';

/** Message that replaces a deleted record for a while. It makes a concurrent write with an expected revision fail. */
const TOMBSTONE = new TextEncoder().encode('-');
/** Lifetime of a tombstone in seconds. */
const TOMBSTONE_SECONDS = 120;

/** Maximum number of cached records. A write that expects a cached revision need not read the record first. */
const CACHED_RECORDS = 10_000;

interface Row extends Stored {
  /**
   * Sequence of the message. The revision of the record is equal, except for an imported record, which keeps the
   * revision of its old store.
   */
  readonly seq: number;
  /** Key of the record, or null if the subject encodes it. */
  readonly key: string | null;
  readonly expiresAt: number | undefined;
}

type WriteOptions = Pick<PutOptions, 'expiresAt' | 'frees'>;

interface Addition {
  readonly delta: number;
  readonly o: AddOptions;
  resolve(value: number | null): void;
  reject(error: unknown): void;
}

/**
 * Records in JetStream. A record is the last message of its subject, and its revision is the sequence of that
 * message.
 */
export class NatsRecords implements Records {
  readonly #store: Store;
  readonly #logs: Logs;
  readonly #listing: Listing<RecordItem>;
  /** Revision and expiry of recently used records, without their values. */
  readonly #cache = new Map<string, Row>();
  readonly #additions = new Map<string, Addition[]>();

  constructor(store: Store, logs: Logs) {
    this.#store = store;
    this.#logs = logs;
    this.#listing = new Listing(store, store.streams.records, `${store.name}.r.`, (message, key) => {
      const row = parse(message);
      return this.#isLive(row) ? { key: key ?? row.key!, value: row.value, revision: row.revision } : null;
    });
  }

  async get(key: string): Promise<Stored | null> {
    checkKey('a key', key);
    const row = await this.#row(key);
    return this.#isLive(row) ? { value: row.value, revision: row.revision } : null;
  }

  async put(key: string, value: Json, o: PutOptions = {}): Promise<number | null> {
    checkKey('a key', key);
    checkExpiry(o.expiresAt);
    const json = encodeJson('a record', value, this.#store.limits.recordBytes);
    const revision = await this.#put(key, json, o);
    if (revision !== null && o.append)
      await this.#logs.append(o.append.stream, o.append.data, { id: o.append.id });
    return revision;
  }

  async stage(key: string, value: Json): Promise<Staged> {
    await this.put(key, value);
    return { key };
  }

  add(key: string, delta: number, o: AddOptions = {}): Promise<number | null> {
    return new Promise((resolve, reject) => {
      checkKey('a key', key);
      checkDelta(delta);
      checkExpiry(o.expiresAt);
      const waiting = this.#additions.get(key);
      const addition = { delta, o, resolve, reject };
      if (waiting) waiting.push(addition);
      else {
        this.#additions.set(key, [addition]);
        void this.#addAll(key);
      }
    });
  }

  async delete(key: string, o: { expect?: number } = {}): Promise<boolean> {
    checkKey('a key', key);
    return compareAndSet(`the record ${key}`, async () => {
      const row = await this.#row(key);
      if (!this.#isLive(row) || (o.expect !== undefined && o.expect !== row.revision)) return false;
      const { connection } = this.#store;
      const options = { expect: row.seq, ttl: TOMBSTONE_SECONDS, frees: true };
      const deleted = await connection.publish(this.#subject(key), TOMBSTONE, options).catch((error) => {
        if (!isRelayError(error, 'store_full')) throw error;
        // There is no room for a tombstone, so delete the message of the record. A replica that lags may list the
        // record a moment longer.
        return connection.remove(this.#store.streams.records, row.seq);
      });
      this.#cache.delete(key);
      return deleted === null ? null : true;
    });
  }

  async list(prefix: string, o: { after?: string; limit?: number } = {}): Promise<RecordPage> {
    checkScope('the prefix of a listing', prefix);
    const limit = checkLimit(o.limit);
    return this.#listing.page(prefix, { after: o.after, limit });
  }

  /** Yields all live records with their expiry. */
  async *export(): AsyncGenerator<ExportedRecord> {
    for await (const { messages } of this.#listing.all('>')) {
      for (const message of messages) {
        const row = parse(message);
        if (!this.#isLive(row)) continue;
        const { value, revision, expiresAt } = row;
        const key = keyOf(message.subject.slice(this.#store.name.length + '.r.'.length)) ?? row.key!;
        yield { key, value, revision, ...(expiresAt === undefined ? {} : { expiresAt }) };
      }
    }
  }

  /** Stores an exported record with its original revision. */
  async import({ key, value, revision, expiresAt }: ExportedRecord): Promise<void> {
    const { connection, env } = this.#store;
    const payload = encode(key, JSON.stringify(value), expiresAt, revision);
    await connection.publish(this.#subject(key), payload, { ttl: ttlOf(expiresAt, env.now()) });
  }

  /** Counts live records by reading every record. */
  async count(): Promise<number> {
    let count = 0;
    for await (const _ of this.export()) count++;
    return count;
  }

  async #put(key: string, json: string, { expect, ...o }: PutOptions): Promise<number | null> {
    if (expect === undefined) return this.#write(key, json, o);
    if (expect === 'absent') return this.#create(key, json, o);
    const cached = this.#cache.get(key);
    const current = cached?.revision === expect ? cached : await this.#row(key);
    if (!this.#isLive(current) || current.revision !== expect) return null;
    return this.#replace(key, json, o, current.seq);
  }

  #subject(key: string): string {
    return `${this.#store.name}.r.${subjectOf(key)}`;
  }

  async #row(key: string): Promise<Row | null> {
    const message = await this.#store.connection.last(this.#store.streams.records, this.#subject(key));
    const row = message && parse(message);
    if (row) this.#cacheRow(key, row);
    else if (message) {
      const { seq } = message;
      return { value: null, revision: seq, seq, key, expiresAt: Number.NEGATIVE_INFINITY };
    }
    return row;
  }

  #isLive(row: Row | null): row is Row & { readonly live?: true } {
    return row !== null && (row.expiresAt === undefined || row.expiresAt > this.#store.env.now());
  }

  /** Creates a record. First assumes that the subject is empty and writes without reading it. */
  async #create(key: string, json: string, o: WriteOptions): Promise<number | null> {
    for (let expect = 0; ; ) {
      const revision = await this.#write(key, json, o, expect);
      if (revision !== null) return revision;
      const row = await this.#row(key);
      if (this.#isLive(row)) return null;
      // The record has expired or was deleted, or a competing write failed after all. Try again.
      expect = row?.seq ?? 0;
    }
  }

  /**
   * Replaces a record. A competing write may have caused the rejection and then failed itself. If the sequence is
   * unchanged, tries again.
   */
  async #replace(key: string, json: string, o: WriteOptions, expect: number) {
    for (;;) {
      const revision = await this.#write(key, json, o, expect);
      if (revision !== null) return revision;
      if ((await this.#row(key))?.seq !== expect) return null;
    }
  }

  async #write(key: string, json: string, { expiresAt, frees }: WriteOptions, expect?: number) {
    const { connection, env } = this.#store;
    const payload = encode(key, json, expiresAt);
    const options = { expect, ttl: ttlOf(expiresAt, env.now()), frees };
    const seq = await connection.publish(this.#subject(key), payload, options);
    if (seq === null) return null;
    this.#cacheRow(key, { value: null, revision: seq, seq, key, expiresAt });
    return seq;
  }

  #cacheRow(key: string, row: Row): void {
    const cached = this.#cache.get(key);
    if (cached && cached.seq > row.seq) return;
    this.#cache.delete(key);
    this.#cache.set(key, { ...row, value: null });
    if (this.#cache.size > CACHED_RECORDS) this.#cache.delete(this.#cache.keys().next().value!);
  }

  /** Applies the waiting additions to a counter. Additions that arrive during a write share the next write. */
  async #addAll(key: string): Promise<void> {
    for (;;) {
      const group = this.#additions.get(key)!;
      if (group.length === 0) break;
      this.#additions.set(key, []);
      try {
        const results = await compareAndSet(`the counter ${key}`, () => this.#addGroup(key, group));
        for (const [i, addition] of group.entries()) {
          const result = results[i]!;
          if (typeof result === 'object' && result !== null) addition.reject(result.error);
          else addition.resolve(result);
        }
      } catch (error) {
        for (const addition of group) addition.reject(error);
      }
    }
    this.#additions.delete(key);
  }

  async #addGroup(key: string, group: readonly Addition[]) {
    const stored = await this.#row(key);
    const row = this.#isLive(stored) ? stored : null;
    let value: Json = row ? row.value : 0;
    let expiresAt = row?.expiresAt;
    let exists = row !== null;
    let changed = false;
    const results = group.map(({ delta, o }): number | null | { error: unknown } => {
      try {
        const sum = addToCounter(value, delta, o.max);
        if (sum === null) return null;
        if (!exists) expiresAt = o.expiresAt;
        exists = true;
        changed = true;
        value = sum;
        return sum;
      } catch (error) {
        return { error };
      }
    });
    if (!changed) return results;
    const frees = group.every(({ o }) => o.frees);
    const seq = await this.#write(key, String(value), { expiresAt, frees }, stored?.seq ?? 0);
    return seq === null ? null : results;
  }
}

/**
 * Encodes a record: one line with its metadata, then its JSON. The metadata contains the key if the subject contains
 * a hash.
 */
function encode(key: string, json: string, expiresAt: number | undefined, revision?: number): Uint8Array {
  const named = subjectOf(key).includes('~') ? key : undefined;
  return Buffer.from(`${JSON.stringify({ expiresAt, key: named, revision })}\n${json}`);
}

/** Decodes a record. Returns null for a tombstone. */
function parse(message: Message): Row | null {
  if (message.data[0] === TOMBSTONE[0]) return null;
  const text = Buffer.from(message.data).toString();
  const end = text.indexOf('\n');
  const { seq } = message;
  const head = JSON.parse(text.slice(0, end)) as { expiresAt?: number; key?: string; revision?: number };
  const { expiresAt, key = null, revision = seq } = head;
  const value = freeze(JSON.parse(text.slice(end + 1)) as Json);
  return { value, revision, seq, key, expiresAt };
}
