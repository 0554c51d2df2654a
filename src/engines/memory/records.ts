import type { Env } from '../../base/env.ts';
import { RelayError } from '../../base/errors.ts';
import { freeze } from '../../base/frozen.ts';
import type { Json } from '../../base/json.ts';
import {
  checkDelta,
  checkExpiry,
  checkKey,
  checkLimit,
  checkScope,
  encodeJson,
} from '../../kernel/admission.ts';
import type { RecordPage, Records, Stored } from '../../kernel/records.ts';
import type { Hazard } from './hazard.ts';
import { Rows } from './rows.ts';

interface Row {
  /** Kept as text, so that nobody holds a reference to what is stored. */
  readonly json: string;
  readonly revision: number;
  readonly expiresAt: number | undefined;
  /** The one answer for all who get it, as long as it is not written anew. */
  shared?: Stored;
}

export class MemoryRecords implements Records {
  readonly #rows: Rows<Row>;
  readonly #hazard: Hazard;
  readonly #maxBytes: number;
  #lastRevision = 0;

  constructor(env: Env, hazard: Hazard, maxBytes: number) {
    this.#rows = new Rows(env);
    this.#hazard = hazard;
    this.#maxBytes = maxBytes;
  }

  async get(key: string): Promise<Stored | null> {
    checkKey('a key', key);
    await this.#hazard.pause();
    const row = this.#rows.get(key);
    if (!row) return null;
    row.shared ??= shared(stored(row));
    return row.shared;
  }

  async put(
    key: string,
    value: Json,
    o: { expect?: 'absent' | number; expiresAt?: number } = {},
  ): Promise<number | null> {
    checkKey('a key', key);
    checkExpiry(o.expiresAt);
    const json = encodeJson('a record', value, this.#maxBytes);
    await this.#hazard.pause();
    const current = this.#rows.get(key);
    if (o.expect !== undefined && o.expect !== (current?.revision ?? 'absent')) return null;
    return this.#acknowledged(this.#write(key, json, o.expiresAt));
  }

  async add(
    key: string,
    delta: number,
    o: { max?: number; expiresAt?: number } = {},
  ): Promise<number | null> {
    checkKey('a key', key);
    checkDelta(delta);
    checkExpiry(o.expiresAt);
    await this.#hazard.pause();
    const row = this.#rows.get(key);
    const current: Json = row ? JSON.parse(row.json) : 0;
    if (!Number.isSafeInteger(current)) throw new RelayError('bad_request', { what: 'that is no counter' });
    const sum = (current as number) + delta;
    checkDelta(sum);
    if (sum < 0 || (o.max !== undefined && sum > o.max)) return null;
    this.#write(key, String(sum), row ? row.expiresAt : o.expiresAt);
    return this.#acknowledged(sum);
  }

  async delete(key: string, o: { expect?: number } = {}): Promise<boolean> {
    checkKey('a key', key);
    await this.#hazard.pause();
    const row = this.#rows.get(key);
    if (!row || (o.expect !== undefined && o.expect !== row.revision)) return false;
    return this.#acknowledged(this.#rows.delete(key));
  }

  async list(prefix: string, o: { after?: string; limit?: number } = {}): Promise<RecordPage> {
    checkScope('the prefix of a listing', prefix);
    const limit = checkLimit(o.limit);
    await this.#hazard.pause();
    return this.#rows.page(prefix, { after: o.after, limit }, (key, row) => ({ key, ...stored(row) }));
  }

  get count(): number {
    return this.#rows.all().length;
  }

  sweep(): number {
    return this.#rows.sweep().length;
  }

  #write(key: string, json: string, expiresAt: number | undefined): number {
    this.#lastRevision = this.#hazard.after(this.#lastRevision);
    this.#rows.set(key, { json, revision: this.#lastRevision, expiresAt });
    return this.#lastRevision;
  }

  /** The answer to a write comes late too: others may act on it before its writer knows. */
  async #acknowledged<T>(result: T): Promise<T> {
    await this.#hazard.pause();
    return result;
  }
}

/** As the contract allows, and servers do: whoever counts on an answer of his own is found out here. */
function shared({ value, revision }: Stored): Stored {
  return Object.freeze({ value: freeze(value), revision });
}

function stored(row: Row): Stored {
  return { value: JSON.parse(row.json), revision: row.revision };
}
