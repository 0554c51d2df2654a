import { DurableObject } from 'cloudflare:workers';
import type { DurableObjectId, DurableObjectState, R2Bucket } from '@cloudflare/workers-types';
import type { Hit } from '../../kernel/search-index.ts';
import { type BodyItem, type BodyRow, BodyRows } from './body-rows.ts';
import { DocumentRows } from './document-rows.ts';
import { type EntryPage, LogRows } from './log-rows.ts';
import { DIRECTORY } from './objects.ts';
import { Counter, type RecordRow, RecordRows } from './record-rows.ts';

/** An object elsewhere: each of its methods takes a call there and back. */
export type Stub<Kind> = {
  readonly [Name in keyof Kind]: Kind[Name] extends (...asked: infer Asked) => infer Answer
    ? (...asked: Asked) => Promise<Awaited<Answer>>
    : never;
};
export type ObjectStub = Stub<StoreObject>;

/** The objects that a Worker is given, by their names. */
export interface Objects {
  idFromName(name: string): DurableObjectId;
  get(id: DurableObjectId): ObjectStub & { fetch(request: Request): Promise<Response> };
}

/** What the Worker's configuration gives to the objects. */
export interface Bindings {
  readonly STORE: Objects;
  readonly BODIES: R2Bucket;
}

export interface Totals {
  readonly blobs: { readonly count: number; readonly bytes: number };
  readonly records: number;
  readonly entries: number;
  readonly diskBytes: number;
}

type Sweeping = { readonly earliest: number; readonly due: number | null };

/** Reads that one object does for others; a request may make 50 calls. */
const GATHERED_AT_ONCE = 32;
/** Names that one call to the bucket deletes at most. */
const DELETED_AT_ONCE = 1000;
/**
 * Expired rows are invisible at once and deleted by a scan of all rows, at most this often: reading a row costs a thousandth of writing
 * one, so a scan is much cheaper than an index that every write has to keep.
 */
const SWEEP_EVERY_MS = 60 * 60 * 1000;

/**
 * A part of the store: rows of the keys and streams that live in it (`objectOf`). Every method that writes does so in one
 * go, without a pause, and the platform holds the answer back until it is on disk, so that each is atomic, alone and durable.
 */
export class StoreObject extends DurableObject<Bindings> {
  readonly #records: RecordRows;
  readonly #logs: LogRows;
  readonly #bodies: BodyRows;
  readonly #documents: DocumentRows;
  readonly #news = new News();
  /** The objects as this one has them. */
  protected readonly objects: Objects;
  #listed: boolean;
  #alarm: number | null = null;
  /** When expired rows are deleted next, and the earliest moment for it. */
  #sweeping: Sweeping;

  constructor(state: DurableObjectState, env: Bindings) {
    super(state, env);
    this.objects = objectsOf(env.STORE, this, () => this.name ?? state.id.name);
    const { sql } = state.storage;
    const counter = new Counter(sql);
    this.#records = new RecordRows(sql, counter);
    this.#logs = new LogRows(sql, counter);
    this.#bodies = new BodyRows(sql);
    this.#documents = new DocumentRows(sql);
    sql.exec('CREATE TABLE IF NOT EXISTS objects (name TEXT PRIMARY KEY) WITHOUT ROWID');
    sql.exec(
      'CREATE TABLE IF NOT EXISTS sweeping (one INTEGER PRIMARY KEY CHECK (one = 1), earliest INTEGER, due INTEGER)',
    );
    this.#listed = sql.exec('SELECT 1 FROM objects LIMIT 1').toArray().length > 0;
    const [sweeping] = sql.exec<Sweeping>('SELECT earliest, due FROM sweeping').toArray();
    this.#sweeping = sweeping ?? { earliest: 0, due: null };
    // The alarm outlives the object, and setting another would forget it.
    void state.blockConcurrencyWhile(async () => {
      this.#alarm = await state.storage.getAlarm();
      // An object of before this row was kept.
      if (!sweeping) this.#sweepAfter(this.#nextExpiry());
    });
  }

  getRecord(key: string, now: number): RecordRow | null {
    return this.#records.get(key, now);
  }

  async putRecord(
    key: string,
    value: string,
    o: Parameters<RecordRows['put']>[2],
    brought?: Brought,
  ): Promise<number | null> {
    await this.#enlist();
    const revision = this.#records.put(key, value, o);
    if (revision === null) return null;
    this.#bring(brought, o.now);
    this.#sweepAfter(o.expiresAt);
    return revision;
  }

  async addToRecord(key: string, delta: number, o: Parameters<RecordRows['add']>[2]) {
    await this.#enlist();
    const sum = this.#records.add(key, delta, o);
    this.#sweepAfter(o.expiresAt);
    return sum;
  }

  deleteRecord(key: string, expect: number | undefined, now: number): boolean {
    return this.#records.delete(key, expect, now);
  }

  listRecords(...asked: Parameters<RecordRows['list']>): RecordRow[] {
    return this.#records.list(...asked);
  }

  async append(
    stream: string,
    data: string,
    o: Parameters<LogRows['append']>[2],
    brought?: Brought,
  ): Promise<number | null> {
    await this.#enlist();
    const appended = this.#logs.append(stream, data, o);
    if (appended?.added) {
      this.#bring(brought, o.now);
      this.#news.wake(stream);
      this.appended(stream);
    }
    return appended === null ? null : appended.seq;
  }

  readEntries(...asked: Parameters<LogRows['read']>): EntryPage {
    return this.#logs.read(...asked);
  }

  /** As `readEntries`, once there is something to read; without entries where nothing came for a while, or the asker gave up. */
  async awaitEntries(stream: string, after: number, limit: number, asker: string): Promise<EntryPage> {
    const page = this.#logs.read(stream, after, limit);
    if (page.entries.length > 0) return page;
    await this.#news.wait(stream, asker);
    return this.#logs.read(stream, after, limit);
  }

  /** Nobody waits for the answer to that question any more: an object that holds one open cannot sleep. */
  giveUp(stream: string, asker: string): void {
    this.#news.giveUp(stream, asker);
  }

  /** Calls of this object that were made in one turn, in their order; one that fails is in the way of no other. */
  async together(calls: readonly ObjectCall[]): Promise<CallAnswer[]> {
    const answers: CallAnswer[] = [];
    for (const call of calls) {
      try {
        answers.push({ value: await askObject(this as unknown as ObjectStub, call) });
      } catch (error) {
        answers.push({ error });
      }
    }
    return answers;
  }

  /** Does many reads for a request that may make few calls itself. It may make no more of them, so it shares them out in turn. */
  async gather(calls: readonly ObjectCall[]): Promise<unknown[]> {
    const named = (name: string) => this.objects.get(this.objects.idFromName(name));
    if (calls.length <= GATHERED_AT_ONCE)
      return Promise.all(calls.map((call) => askObject(named(call.object), call)));
    const shares = Array.from({ length: Math.ceil(calls.length / GATHERED_AT_ONCE) }, (_, i) =>
      calls.slice(i * GATHERED_AT_ONCE, (i + 1) * GATHERED_AT_ONCE),
    );
    return (await Promise.all(shares.map((share) => named(share[0]!.object).gather(share)))).flat();
  }

  streamInfo(stream: string): { first: number; last: number; count: number } {
    return this.#logs.info(stream);
  }

  trim(stream: string, before: number): void {
    this.#logs.trim(stream, before);
  }

  drop(stream: string): void {
    this.#logs.drop(stream);
  }

  async announceBody(name: string, now: number): Promise<void> {
    await this.#enlist();
    this.#bodies.announce(name, now);
    this.wakeAt(this.#bodies.nextDue());
  }

  async putBody(row: BodyRow): Promise<boolean> {
    await this.#enlist();
    const put = this.#bodies.put(row);
    this.#sweepAfter(row.expires);
    return put;
  }

  getBody(key: string, now: number): BodyRow | null {
    return this.#bodies.get(key, now);
  }

  deleteBody(key: string, now: number): void {
    this.#bodies.delete(key, now);
    this.wakeAt(this.#bodies.nextDue());
  }

  listBodies(...asked: Parameters<BodyRows['list']>): BodyItem[] {
    return this.#bodies.list(...asked);
  }

  async putDocument(key: string, text: string, fields: string): Promise<void> {
    await this.#enlist();
    this.#documents.put(key, text, fields);
  }

  removeDocument(...keys: string[]): void {
    this.#documents.remove(keys);
  }

  search(scope: string, query: string, limit: number): Hit[] {
    return this.#documents.search(scope, query, limit);
  }

  /** Takes what has expired by then, and deletes from the bucket what nothing refers to. */
  async sweep(now: number): Promise<{ blobs: number; bytes: number; records: number }> {
    const swept = { ...this.#bodies.sweep(now), records: this.#records.sweep(now) };
    await this.#emptyBucket(now);
    return swept;
  }

  totals(): Totals {
    const [records, entries] = [this.#records.count(), this.#logs.count()];
    return { blobs: this.#bodies.total(), records, entries, diskBytes: this.ctx.storage.sql.databaseSize };
  }

  /** The directory alone has these. */
  addObject(name: string): void {
    this.ctx.storage.sql.exec('INSERT OR IGNORE INTO objects (name) VALUES (?)', name);
  }

  listObjects(after: string, limit: number): string[] {
    const sql = 'SELECT name FROM objects WHERE name > ? ORDER BY name LIMIT ?';
    return [...this.ctx.storage.sql.exec<{ name: string }>(sql, after, limit)].map(({ name }) => name);
  }

  async alarm(): Promise<void> {
    this.#alarm = null;
    const now = Date.now();
    if (now < (this.#sweeping.due ?? Number.POSITIVE_INFINITY)) await this.#emptyBucket(now);
    else {
      await this.sweep(now);
      this.#planSweep({ earliest: now + SWEEP_EVERY_MS, due: null });
      this.#sweepAfter(this.#nextExpiry());
    }
    this.wakeAt(this.#sweeping.due);
    this.wakeAt(this.#bodies.nextDue());
  }

  async #emptyBucket(now: number): Promise<void> {
    for (;;) {
      const names = this.#bodies.due(now, DELETED_AT_ONCE);
      if (names.length > 0) await this.env.BODIES.delete(names);
      this.#bodies.forget(names);
      if (names.length < DELETED_AT_ONCE) return;
    }
  }

  /** Plans the deletion of what expires then. */
  #sweepAfter(expires: number | null | undefined): void {
    const { earliest, due } = this.#sweeping;
    const at = expires == null ? null : Math.max(expires, earliest);
    if (at !== null && (due === null || at < due)) this.#planSweep({ earliest, due: at });
  }

  /** Kept in a row: the object forgets what it has in memory when it sleeps. */
  #planSweep(plan: Sweeping): void {
    this.#sweeping = plan;
    this.ctx.storage.sql.exec('INSERT OR REPLACE INTO sweeping VALUES (1, ?, ?)', plan.earliest, plan.due);
    this.wakeAt(plan.due);
  }

  #nextExpiry(): number | null {
    const found = [this.#records.nextExpiry(), this.#bodies.nextExpiry()].filter((at) => at !== null);
    return found.length > 0 ? Math.min(...found) : null;
  }

  #bring({ bodies, records }: Brought = { bodies: [], records: [] }, now: number): void {
    for (const { key, value } of records) this.#records.put(key, value, { now });
    for (const row of bodies) {
      this.#bodies.put(row);
      this.#sweepAfter(row.expires);
    }
  }

  /** Before its first write an object is in the directory, so that none is ever forgotten. */
  async #enlist(): Promise<void> {
    if (this.#listed) return;
    const name = this.ctx.id.name!;
    await this.env.STORE.get(this.env.STORE.idFromName(DIRECTORY)).addObject(name);
    this.addObject(name);
    this.#listed = true;
  }

  /** What this object is called; null before anything was written. The platform does not tell it to an alarm. */
  protected get name(): string | null {
    return this.listObjects('', 1)[0] ?? null;
  }

  /** The streams whose names begin so. */
  protected streams(prefix: string): string[] {
    return this.#logs.streams(prefix);
  }

  /** A stream has grown: for whoever builds on this, to tell its own readers. */
  protected appended(_stream: string): void {}

  /** Has `alarm` called then, or a little later; for what is never due, not. */
  protected wakeAt(due: number | null | undefined): void {
    if (due == null || due >= (this.#alarm ?? Number.POSITIVE_INFINITY)) return;
    this.#alarm = due;
    void this.ctx.storage.setAlarm(due);
  }
}

/** An object asks itself directly: a call to itself would keep it from sleeping. */
function objectsOf(all: Objects, object: StoreObject, name: () => string | undefined): Objects {
  const own = {} as DurableObjectId;
  const self = new Proxy(object as unknown as ReturnType<Objects['get']>, {
    // It is handed on by what waits for promises, and is none.
    get: (_, method: keyof StoreObject | 'then') =>
      method === 'then'
        ? undefined
        : async (...given: unknown[]) => (object[method] as (...given: unknown[]) => unknown)(...given),
  });
  return {
    idFromName: (asked) => (asked === name() ? own : all.idFromName(asked)),
    get: (id) => (id === own ? self : all.get(id)),
  };
}

/** A call of some object, as it travels. */
export interface ObjectCall {
  readonly object: string;
  readonly method:
    | 'getRecord'
    | 'putRecord'
    | 'addToRecord'
    | 'deleteRecord'
    | 'listRecords'
    | 'append'
    | 'readEntries'
    | 'streamInfo'
    | 'getBody'
    | 'putBody'
    | 'deleteBody'
    | 'putDocument'
    | 'removeDocument';
  readonly given: readonly unknown[];
}

/** What became of one of several calls that travelled together. */
export type CallAnswer = { readonly value: unknown } | { readonly error: unknown };

/** What is written with a record or an entry, where that is written. */
export interface Brought {
  readonly bodies: readonly BodyRow[];
  readonly records: readonly { readonly key: string; readonly value: string }[];
}

/** Makes a call. */
export function askObject(object: ObjectStub, { method, given }: ObjectCall): Promise<unknown> {
  return (object as unknown as Record<string, (...given: unknown[]) => Promise<unknown>>)[method]!(...given);
}

/** How long a question for new entries is held open: a Worker that was killed never takes its question back. */
const WAIT_MS = 25_000;

/** Who waits for news of the streams of an object: how each is woken, by the name that it asks under. */
export class News {
  readonly #waiting = new Map<string, Map<string, () => void>>();

  /** Until the stream has grown, the asker has given up, or for a while. */
  async wait(stream: string, asker: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting = this.#waiting.get(stream) ?? new Map();
    this.#waiting.set(stream, waiting.set(asker, resolve));
    const timer = setTimeout(resolve, WAIT_MS);
    await promise;
    clearTimeout(timer);
    waiting.delete(asker);
    if (waiting.size === 0) this.#waiting.delete(stream);
  }

  wake(stream: string): void {
    for (const wake of this.#waiting.get(stream)?.values() ?? []) wake();
  }

  giveUp(stream: string, asker: string): void {
    this.#waiting.get(stream)?.get(asker)?.();
  }
}
