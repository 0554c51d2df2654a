import { DurableObject } from 'cloudflare:workers';
import type { DurableObjectId, DurableObjectState, R2Bucket } from '@cloudflare/workers-types';
import type { Hit } from '../../kernel/search-index.ts';
import { type BodyItem, type BodyRow, BodyRows } from './body-rows.ts';
import { DocumentRows } from './document-rows.ts';
import { type EntryPage, LogRows } from './log-rows.ts';
import { DIRECTORY } from './objects.ts';
import { Counter, type RecordRow, RecordRows } from './record-rows.ts';

/** Interface of a remote Durable Object. Every method is an RPC. */
export type Stub<Kind> = {
  readonly [Name in keyof Kind]: Kind[Name] extends (...args: infer Args) => infer Answer
    ? (...args: Args) => Promise<Awaited<Answer>>
    : never;
};
export type ObjectStub = Stub<StoreObject>;

/** Namespace of Durable Objects, which finds them by name. */
export interface Objects {
  idFromName(name: string): DurableObjectId;
  get(id: DurableObjectId): ObjectStub & { fetch(request: Request): Promise<Response> };
}

/** Bindings from the configuration of the Worker. */
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

/**
 * Plan of the sweeps. `earliest` is the earliest allowed time of the next sweep; `due` is its planned time, or null.
 * Both are in ms since the epoch.
 */
type Sweeping = { readonly earliest: number; readonly due: number | null };

/**
 * Maximum number of reads that one object makes in one `gather`. The platform allows 50 calls per request; the other
 * 18 are for other work.
 */
const GATHERED_AT_ONCE = 32;
/** Maximum number of objects that one call to R2 deletes. */
const DELETED_AT_ONCE = 1000;
/**
 * Minimum time in ms between two sweeps. A sweep is not urgent, because expired rows are already invisible. It scans
 * all rows. Reading a row costs a thousandth of writing one, so a scan is much cheaper than an index that every write
 * must update.
 */
const SWEEP_EVERY_MS = 60 * 60 * 1000;

/**
 * Durable Object that stores a part of the keys and logs (see `objectOf`). Every writing method makes all its writes
 * without an await between them, so it is atomic and isolated. The platform sends the answer only after the writes
 * are durable.
 */
export class StoreObject extends DurableObject<Bindings> {
  readonly #records: RecordRows;
  readonly #logs: LogRows;
  readonly #bodies: BodyRows;
  readonly #documents: DocumentRows;
  readonly #waiters = new EntryWaiters();
  /** Namespace of Durable Objects. It calls this object's own methods directly, without RPC. */
  protected readonly objects: Objects;
  /** True once the directory lists this object. */
  #listed: boolean;
  #alarm: number | null = null;
  #sweeping: Sweeping;

  constructor(state: DurableObjectState, env: Bindings) {
    super(state, env);
    this.objects = withDirectSelf(env.STORE, this, () => this.name ?? state.id.name);
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
    // The alarm survives an eviction. Read its time, because setting another alarm would replace it.
    void state.blockConcurrencyWhile(async () => {
      this.#alarm = await state.storage.getAlarm();
      // If there is no row with the sweep plan, an older version of the relay wrote this object. So plan a sweep.
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
    attached?: AttachedRows,
  ): Promise<number | null> {
    await this.#enlist();
    const revision = this.#records.put(key, value, o);
    if (revision === null) return null;
    this.#writeAttached(attached, o.now);
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

  listRecords(...args: Parameters<RecordRows['list']>): RecordRow[] {
    return this.#records.list(...args);
  }

  async append(
    stream: string,
    data: string,
    o: Parameters<LogRows['append']>[2],
    attached?: AttachedRows,
  ): Promise<number | null> {
    await this.#enlist();
    const appended = this.#logs.append(stream, data, o);
    if (appended?.added) {
      this.#writeAttached(attached, o.now);
      this.#waiters.wake(stream);
      this.appended(stream);
    }
    return appended === null ? null : appended.seq;
  }

  readEntries(...args: Parameters<LogRows['read']>): EntryPage {
    return this.#logs.read(...args);
  }

  /**
   * Reads entries after a sequence number, and waits if there are none. Returns an empty page after a timeout or
   * `giveUp`.
   */
  async awaitEntries(stream: string, after: number, limit: number, waiter: string): Promise<EntryPage> {
    const page = this.#logs.read(stream, after, limit);
    if (page.entries.length > 0) return page;
    await this.#waiters.wait(stream, waiter);
    return this.#logs.read(stream, after, limit);
  }

  /** Ends the `awaitEntries` call of a waiter. An object with an open call cannot hibernate. */
  giveUp(stream: string, waiter: string): void {
    this.#waiters.giveUp(stream, waiter);
  }

  /** Runs a batch of calls to this object in order. A failed call does not affect the others. */
  async together(calls: readonly ObjectCall[]): Promise<CallAnswer[]> {
    const answers: CallAnswer[] = [];
    for (const call of calls) {
      try {
        answers.push({ value: await callObject(this as unknown as ObjectStub, call) });
      } catch (error) {
        answers.push({ error });
      }
    }
    return answers;
  }

  /**
   * Makes many reads for a request, which itself may make only a few calls. Distributes them over several objects if
   * they are too many for one.
   */
  async gather(calls: readonly ObjectCall[]): Promise<unknown[]> {
    const named = (name: string) => this.objects.get(this.objects.idFromName(name));
    if (calls.length <= GATHERED_AT_ONCE)
      return Promise.all(calls.map((call) => callObject(named(call.object), call)));
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

  /** Records the name of an R2 object before its upload. */
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

  listBodies(...args: Parameters<BodyRows['list']>): BodyItem[] {
    return this.#bodies.list(...args);
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

  /** Deletes expired rows, and the R2 objects that are due. */
  async sweep(now: number): Promise<{ blobs: number; bytes: number; records: number }> {
    const swept = { ...this.#bodies.sweep(now), records: this.#records.sweep(now) };
    await this.#emptyBucket(now);
    return swept;
  }

  totals(): Totals {
    const [records, entries] = [this.#records.count(), this.#logs.count()];
    return { blobs: this.#bodies.total(), records, entries, diskBytes: this.ctx.storage.sql.databaseSize };
  }

  /**
   * Adds an object name to the table `objects`. In the directory, this table lists all objects. In any other object,
   * it contains only the object's own name.
   */
  addObject(name: string): void {
    this.ctx.storage.sql.exec('INSERT OR IGNORE INTO objects (name) VALUES (?)', name);
  }

  listObjects(after: string, limit: number): string[] {
    const sql = 'SELECT name FROM objects WHERE name > ? ORDER BY name LIMIT ?';
    return [...this.ctx.storage.sql.exec<{ name: string }>(sql, after, limit)].map(({ name }) => name);
  }

  /** Sweeps if a sweep is due. The platform calls this method at the time of the alarm. */
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

  /**
   * Plans a sweep for the time `expires`, or for the end of the minimum interval if that is later. Does nothing if an
   * earlier sweep is planned.
   */
  #sweepAfter(expires: number | null | undefined): void {
    const { earliest, due } = this.#sweeping;
    const at = expires == null ? null : Math.max(expires, earliest);
    if (at !== null && (due === null || at < due)) this.#planSweep({ earliest, due: at });
  }

  /** Stores the plan in memory and in a row, because an evicted object loses its memory. */
  #planSweep(plan: Sweeping): void {
    this.#sweeping = plan;
    this.ctx.storage.sql.exec('INSERT OR REPLACE INTO sweeping VALUES (1, ?, ?)', plan.earliest, plan.due);
    this.wakeAt(plan.due);
  }

  #nextExpiry(): number | null {
    const found = [this.#records.nextExpiry(), this.#bodies.nextExpiry()].filter((at) => at !== null);
    return found.length > 0 ? Math.min(...found) : null;
  }

  #writeAttached({ bodies, records }: AttachedRows = { bodies: [], records: [] }, now: number): void {
    for (const { key, value } of records) this.#records.put(key, value, { now });
    for (const row of bodies) {
      this.#bodies.put(row);
      this.#sweepAfter(row.expires);
    }
  }

  /** Adds this object to the directory before its first write, so that the directory lists every object with data. */
  async #enlist(): Promise<void> {
    if (this.#listed) return;
    const name = this.ctx.id.name!;
    await this.env.STORE.get(this.env.STORE.idFromName(DIRECTORY)).addObject(name);
    this.addObject(name);
    this.#listed = true;
  }

  /**
   * Name of this object, or null before its first write. It is read from the table `objects`, because the platform
   * does not pass it to an alarm.
   */
  protected get name(): string | null {
    return this.listObjects('', 1)[0] ?? null;
  }

  /** Returns the logs whose names start with the prefix. */
  protected streams(prefix: string): string[] {
    return this.#logs.streams(prefix);
  }

  /** Called after an append. A subclass notifies its readers here. */
  protected appended(_stream: string): void {}

  /** Moves the alarm forward to this time. Does nothing if the alarm is earlier or the time is null. */
  protected wakeAt(due: number | null | undefined): void {
    if (due == null || due >= (this.#alarm ?? Number.POSITIVE_INFINITY)) return;
    this.#alarm = due;
    void this.ctx.storage.setAlarm(due);
  }
}

/**
 * Wraps a namespace so that an object calls its own methods directly. With an RPC to itself, an object could not
 * hibernate.
 */
function withDirectSelf(all: Objects, object: StoreObject, name: () => string | undefined): Objects {
  const own = {} as DurableObjectId;
  const self = new Proxy(object as unknown as ReturnType<Objects['get']>, {
    // `await` calls the method `then` of an object. Without this check, it would treat the proxy as a promise.
    get: (_, method: keyof StoreObject | 'then') =>
      method === 'then'
        ? undefined
        : async (...given: unknown[]) => (object[method] as (...given: unknown[]) => unknown)(...given),
  });
  return {
    idFromName: (wanted) => (wanted === name() ? own : all.idFromName(wanted)),
    get: (id) => (id === own ? self : all.get(id)),
  };
}

/** A method call to an object, as it is sent in a batch. */
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

/** Result of one call in a batch. */
export type CallAnswer = { readonly value: unknown } | { readonly error: unknown };

/** Rows that are committed in one Durable Object call with a record or log entry. */
export interface AttachedRows {
  readonly bodies: readonly BodyRow[];
  readonly records: readonly { readonly key: string; readonly value: string }[];
}

/** Calls a method by its name. */
export function callObject(object: ObjectStub, { method, given }: ObjectCall): Promise<unknown> {
  return (object as unknown as Record<string, (...given: unknown[]) => Promise<unknown>>)[method]!(...given);
}

/**
 * Time in ms after which `awaitEntries` returns without entries. This ends the calls of Workers that were killed, which
 * never call `giveUp`.
 */
const WAIT_MS = 25_000;

/** Callers that wait for new entries of a log (long polling). Each caller has a unique name. */
export class EntryWaiters {
  readonly #waiting = new Map<string, Map<string, () => void>>();

  /** Waits until the log has new entries, the caller gives up, or `WAIT_MS` have passed. */
  async wait(stream: string, waiter: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting = this.#waiting.get(stream) ?? new Map();
    this.#waiting.set(stream, waiting.set(waiter, resolve));
    const timer = setTimeout(resolve, WAIT_MS);
    await promise;
    clearTimeout(timer);
    waiting.delete(waiter);
    if (waiting.size === 0) this.#waiting.delete(stream);
  }

  wake(stream: string): void {
    for (const wake of this.#waiting.get(stream)?.values() ?? []) wake();
  }

  giveUp(stream: string, waiter: string): void {
    this.#waiting.get(stream)?.get(waiter)?.();
  }
}
