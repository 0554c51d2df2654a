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
import { objectOf } from './objects.ts';
import type { RecordRow } from './record-rows.ts';
import { bringAlong, type StagedRow } from './staged-rows.ts';
import type { Store } from './store.ts';

export class CloudflareRecords implements Records {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  async get(key: string, { ahead }: { ahead?: string } = {}): Promise<Stored | null> {
    checkKey('a key', key);
    const { calls, env } = this.#store;
    const row = await calls.ask(objectOf(key), 'getRecord', key, env.now(), ahead);
    if (row?.body) this.#store.ahead = row.body;
    return row && stored(row);
  }

  async put(key: string, value: Json, o: PutOptions = {}): Promise<number | null> {
    checkKey('a key', key);
    const { expect, expiresAt } = o;
    checkExpiry(expiresAt);
    const json = encodeJson('a record', value, this.#store.limits.recordBytes);
    const brought = o.with && (await bringAlong(this.#store, key, o.with));
    const { calls, env } = this.#store;
    return calls.ask(objectOf(key), 'putRecord', key, json, { expect, expiresAt, now: env.now() }, brought);
  }

  async stage(key: string, value: Json): Promise<StagedRow> {
    checkKey('a key', key);
    return { key, value: encodeJson('a record', value, this.#store.limits.recordBytes) };
  }

  async add(key: string, delta: number, { max, expiresAt }: AddOptions = {}): Promise<number | null> {
    checkKey('a key', key);
    checkDelta(delta);
    checkExpiry(expiresAt);
    const o = { max, expiresAt, now: this.#store.env.now() };
    const sum = await this.#store.calls.ask(objectOf(key), 'addToRecord', key, delta, o);
    if (typeof sum === 'string') throw badRequest(sum);
    return sum;
  }

  async delete(key: string, o: { expect?: number } = {}): Promise<boolean> {
    checkKey('a key', key);
    const { calls, env } = this.#store;
    return calls.ask(objectOf(key), 'deleteRecord', key, o.expect, env.now());
  }

  async list(prefix: string, o: { after?: string; limit?: number } = {}): Promise<RecordPage> {
    checkScope('the prefix of a listing', prefix);
    const limit = checkLimit(o.limit);
    const { calls, env } = this.#store;
    const rows = await calls.ask(objectOf(prefix), 'listRecords', prefix, o.after, limit + 1, env.now());
    const items = rows.slice(0, limit).map((row) => ({ key: row.key, ...stored(row) }));
    return rows.length > limit ? { items, next: items.at(-1)!.key } : { items };
  }
}

function stored({ value, revision }: RecordRow): Stored {
  return { value: freeze(JSON.parse(value)), revision };
}
