import { badRequest } from '../../base/errors.ts';
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
import type { AddOptions, PutOptions, RecordPage, Records, Stored } from '../../kernel/records.ts';
import type { Staged } from '../../kernel/staged.ts';
import { objectOf } from './objects.ts';
import type { RecordRow } from './record-rows.ts';
import type { Store } from './store.ts';

export class CloudflareRecords implements Records {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  async get(key: string): Promise<Stored | null> {
    checkKey('a key', key);
    const row = await this.#store.reads.read(objectOf(key), 'getRecord', key, this.#store.env.now());
    return row && stored(row);
  }

  async put(key: string, value: Json, { expect, expiresAt }: PutOptions = {}): Promise<number | null> {
    checkKey('a key', key);
    checkExpiry(expiresAt);
    const json = encodeJson('a record', value, this.#store.limits.recordBytes);
    return this.#store.object(key).putRecord(key, json, { expect, expiresAt, now: this.#store.env.now() });
  }

  async stage(key: string, value: Json): Promise<Staged> {
    await this.put(key, value);
    return { key };
  }

  async add(key: string, delta: number, { max, expiresAt }: AddOptions = {}): Promise<number | null> {
    checkKey('a key', key);
    checkDelta(delta);
    checkExpiry(expiresAt);
    const o = { max, expiresAt, now: this.#store.env.now() };
    const sum = await this.#store.object(key).addToRecord(key, delta, o);
    if (typeof sum === 'string') throw badRequest(sum);
    return sum;
  }

  async delete(key: string, o: { expect?: number } = {}): Promise<boolean> {
    checkKey('a key', key);
    return this.#store.object(key).deleteRecord(key, o.expect, this.#store.env.now());
  }

  async list(prefix: string, o: { after?: string; limit?: number } = {}): Promise<RecordPage> {
    checkScope('the prefix of a listing', prefix);
    const limit = checkLimit(o.limit);
    const { reads, env } = this.#store;
    const object = objectOf(prefix);
    const rows = await reads.read(object, 'listRecords', prefix, o.after, limit + 1, env.now());
    const items = rows.slice(0, limit).map((row) => ({ key: row.key, ...stored(row) }));
    return rows.length > limit ? { items, next: items.at(-1)!.key } : { items };
  }
}

function stored({ value, revision }: RecordRow): Stored {
  return { value: freeze(JSON.parse(value)), revision };
}
