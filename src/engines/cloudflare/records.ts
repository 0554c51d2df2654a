import { badRequest } from '../../base/errors.ts';
import type { Json } from '../../base/json.ts';
import type { Logs } from '../../kernel/logs.ts';
import type { AddOptions, PutOptions, RecordPage, Records, Stored } from '../../kernel/records.ts';
import {
  checkDelta,
  checkExpiry,
  checkKey,
  checkLimit,
  checkScope,
  compareKeys,
  encodeJson,
} from '../../kernel/validate-input.ts';
import { objectOf, objectsOf } from './objects.ts';
import type { RecordRow } from './record-rows.ts';
import { rowsInSameObject, type StagedRow, type Store, storeInOtherObjects } from './store.ts';

/**
 * In a listing over all shards, each shard returns at most `limit` divided by this number. With 64 shards, this is
 * eight times the average share of a shard, so few listings need a second round of calls.
 */
const SHARD_PAGE_DIVISOR = 8;

/** Records in rows of Durable Objects. */
export class CloudflareRecords implements Records {
  readonly #store: Store;
  readonly #logs: Logs;

  constructor(store: Store, logs: Logs) {
    this.#store = store;
    this.#logs = logs;
  }

  async get(key: string): Promise<Stored | null> {
    checkKey('a key', key);
    const { calls, env } = this.#store;
    const row = await calls.ask(objectOf(key), 'getRecord', key, env.now());
    return row && parseRow(row);
  }

  async put(key: string, value: Json, o: PutOptions = {}): Promise<number | null> {
    checkKey('a key', key);
    const { expect, expiresAt, append } = o;
    checkExpiry(expiresAt);
    const json = encodeJson('a record', value, this.#store.limits.recordBytes);
    const others = storeInOtherObjects(this.#store, key, o.with);
    if (others) await others;
    const attached = rowsInSameObject(key, o.with);
    const { calls, env } = this.#store;
    const options = { expect, expiresAt, now: env.now() };
    const revision = await calls.ask(objectOf(key), 'putRecord', key, json, options, attached);
    if (revision !== null && append) await this.#logs.append(append.stream, append.data, append);
    return revision;
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
    const objects = objectsOf(prefix);
    const most = objects.length === 1 ? limit : Math.ceil(limit / SHARD_PAGE_DIVISOR);
    const pages = await Promise.all(
      objects.map((object) => calls.ask(object, 'listRecords', prefix, o.after, most + 1, env.now())),
    );
    // An object that returned more than `most` rows may have even more. So the merged list is complete only up to row
    // number `most` of that object.
    const [end] = pages.flatMap((rows) => rows[most]?.key ?? []).sort(compareKeys);
    const rows = pages.flat().filter(({ key }) => end === undefined || compareKeys(key, end) < 0);
    rows.sort((a, b) => compareKeys(a.key, b.key));
    const items = rows.slice(0, limit).map((row) => ({ key: row.key, ...parseRow(row) }));
    return end !== undefined || rows.length > limit ? { items, next: items.at(-1)!.key } : { items };
  }
}

function parseRow({ value, revision }: RecordRow): Stored {
  return { value: JSON.parse(value), revision };
}
