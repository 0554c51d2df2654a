import type { Json } from '../../base/json.ts';
import type { Followers } from '../../kernel/engine.ts';
import type { AppendOptions, Entry, LogPage, Logs, ReadOptions } from '../../kernel/logs.ts';
import type { AnnouncingEntry } from '../../kernel/records.ts';
import { checkAfter, checkKey, checkLimit, encodeJson } from '../../kernel/validate-input.ts';
import { type RowStore, StagedWrite, stagedBytes, type Transaction, writeStaged } from './commit-queue.ts';

/** Maximum number of entries that one transaction deletes, so that it holds the lock only for a few milliseconds. */
export const DELETE_ENTRIES = 1000;

/** Maximum number of entries that a subscriber reads at once. */
const PAGE_ENTRIES = 100;
/** Number of characters after which the page of a subscriber ends. */
const PAGE_CHARS = 256 * 1024;

interface Stream {
  readonly id: number;
  readonly first: number;
  readonly last: number;
  readonly count: number;
}

/** Expressions for the figures of a stream. */
type Figures = { readonly [name in 'first' | 'last' | 'count']: string };

/** The figures are columns, which every append updates. */
const STORED: Figures = { first: 'first', last: 'last', count: 'count' };

const computed = (figure: string) => `(SELECT coalesce(${figure}, 0) FROM entries WHERE stream = streams.id)`;
/** The table `streams` has no columns for the figures, which saves a written row per append. */
const COMPUTED: Figures = {
  first: computed('min(seq)'),
  last: computed('max(seq)'),
  count: computed('count(*)'),
};

/**
 * Logs in SQLite. Sequence numbers come from the store's single counter. The id of an entry is deleted together with
 * the entry, so a retry after a trim or drop appends a new entry.
 */
export class SqliteLogs implements Logs {
  readonly #store: RowStore;
  readonly #subscriptions: Pick<Followers, 'follow'>;
  readonly #figures: Figures;

  constructor(
    store: RowStore,
    subscriptions: Pick<Followers, 'follow'>,
    figures: 'stored' | 'computed' = 'stored',
  ) {
    this.#store = store;
    this.#subscriptions = subscriptions;
    this.#figures = figures === 'stored' ? STORED : COMPUTED;
  }

  async append(stream: string, data: Json, o: AppendOptions = {}): Promise<number | null> {
    const json = this.#checkAndEncode(stream, data, o.id);
    return this.#store.queue.run(
      (tx) => this.#add(tx, stream, json, o),
      json.length + stagedBytes(o.with),
      o.frees,
    );
  }

  /** Returns a staged write that appends an entry in the transaction of another write. */
  stageEntry({ stream, data, id }: AnnouncingEntry): StagedWrite {
    const json = this.#checkAndEncode(stream, data, id);
    return new StagedWrite(stream, (tx) => void this.#add(tx, stream, json, { id }), json.length);
  }

  async read(stream: string, o: ReadOptions = {}): Promise<LogPage> {
    checkKey("a stream's name", stream);
    const after = checkAfter(o.after);
    const limit = checkLimit(o.limit);
    const entries = await this.#store.db.retryWhileBusy(() => this.#page(stream, after, limit, o.maxBytes));
    return entries[0]?.gap ? { entries, gap: true } : { entries };
  }

  subscribe(stream: string, o: { after?: number; signal: AbortSignal }): AsyncIterable<Entry> {
    checkKey("a stream's name", stream);
    return this.#subscriptions.follow(stream, checkAfter(o.after), o.signal, (after) =>
      this.#store.db.retryWhileBusy(() => this.#page(stream, after, PAGE_ENTRIES, PAGE_CHARS)),
    );
  }

  async info(stream: string): Promise<{ first: number; last: number; count: number }> {
    checkKey("a stream's name", stream);
    const found = await this.#store.db.retryWhileBusy(() => this.#stream(stream));
    return { first: found?.first ?? 0, last: found?.last ?? 0, count: found?.count ?? 0 };
  }

  async trim(stream: string, o: { before: number }): Promise<void> {
    checkKey("a stream's name", stream);
    const found = await this.#store.db.retryWhileBusy(() => this.#stream(stream));
    if (!found || found.first >= Math.min(o.before, found.last)) return;
    while (await this.#store.queue.free((tx) => this.#trimSome(tx, stream, o.before)));
  }

  async drop(stream: string): Promise<void> {
    checkKey("a stream's name", stream);
    await this.#store.queue.free((tx) => {
      const found = this.#stream(stream);
      if (!found) return;
      tx.touch(stream);
      if (found.count > DELETE_ENTRIES) {
        this.#store.db.sql('UPDATE streams SET name = NULL WHERE id = ?').run(found.id);
        return;
      }
      this.#store.db.sql('DELETE FROM entries WHERE stream = ?').run(found.id);
      this.#store.db.sql('DELETE FROM streams WHERE id = ?').run(found.id);
    });
  }

  #checkAndEncode(stream: string, data: Json, id: string | undefined): string {
    checkKey("a stream's name", stream);
    if (id !== undefined) checkKey("an entry's id", id);
    return encodeJson('a log entry', data, this.#store.limits.entryBytes);
  }

  #add(tx: Transaction, stream: string, json: string, o: AppendOptions): number | null {
    const sql = `SELECT id, ${this.#figures.last} AS last FROM streams WHERE name = ?`;
    const found = this.#store.db.sql<Pick<Stream, 'id' | 'last'>>(sql).get(stream);
    if (found && o.id !== undefined) {
      const sql = 'SELECT seq FROM entries WHERE stream = ? AND id = ?';
      const first = this.#store.db.sql<{ seq: number }>(sql).get(found.id, o.id);
      if (first) return first.seq;
    }
    if (o.expectSeq !== undefined && o.expectSeq !== (found?.last ?? 0)) return null;
    writeStaged(tx, o.with);
    return this.#append(tx, stream, found?.id, json, o.id);
  }

  /**
   * Reads at most `limit` entries, or fewer once they have `maxChars` characters. Uses one statement, so that the
   * entries and the trim position are consistent.
   */
  #page(stream: string, after: number, limit: number, maxChars = Number.POSITIVE_INFINITY): Entry[] {
    const sql = `SELECT e.seq, e.at, e.data, s.trimmed FROM streams s JOIN entries e ON e.stream = s.id
      WHERE s.name = ? AND e.seq > ? ORDER BY e.seq LIMIT ?`;
    const entries: Entry[] = [];
    let chars = 0;
    const rows = this.#store.db.sql<{ seq: number; at: number; data: string; trimmed: number }>(sql);
    for (const { seq, at, data, trimmed } of rows.iterate(stream, after, limit)) {
      const entry: Entry = { seq, at, data: JSON.parse(data) };
      entries.push(entries.length === 0 && after < trimmed ? { ...entry, gap: true } : entry);
      chars += data.length;
      if (chars >= maxChars) break;
    }
    return entries;
  }

  #append(
    tx: Transaction,
    stream: string,
    streamId: number | undefined,
    json: string,
    id: string | undefined,
  ): number {
    const owner = streamId ?? tx.next();
    const seq = tx.next();
    const isStored = this.#figures === STORED;
    if (streamId !== undefined) {
      const update = 'UPDATE streams SET last = ?, count = count + 1 WHERE id = ?';
      if (isStored) this.#store.db.sql(update).run(seq, owner);
    } else if (isStored) {
      const insert = 'INSERT INTO streams (id, name, first, last, count, trimmed) VALUES (?, ?, ?, ?, 1, 0)';
      this.#store.db.sql(insert).run(owner, stream, seq, seq);
    } else this.#store.db.sql('INSERT INTO streams (id, name, trimmed) VALUES (?, ?, 0)').run(owner, stream);
    const sql = 'INSERT INTO entries (stream, seq, at, id, data) VALUES (?, ?, ?, ?, ?)';
    this.#store.db.sql(sql).run(owner, seq, this.#store.env.now(), id ?? null, json);
    tx.touch(stream);
    return seq;
  }

  /** Trims one batch of entries. Returns whether there are more entries to trim. */
  #trimSome(tx: Transaction, stream: string, before: number): boolean {
    const found = this.#stream(stream);
    if (!found) return false;
    const below = Math.min(before, found.last);
    const last = this.#store.db
      .sql<{ seq: number | null; count: number }>(
        `SELECT max(seq) AS seq, count(*) AS count FROM
        (SELECT seq FROM entries WHERE stream = ? AND seq < ? ORDER BY seq LIMIT ${DELETE_ENTRIES})`,
      )
      .get(found.id, below)!;
    if (last.seq === null) return false;
    this.#store.db.sql('DELETE FROM entries WHERE stream = ? AND seq <= ?').run(found.id, last.seq);
    this.#store.db.sql('UPDATE streams SET trimmed = ? WHERE id = ?').run(last.seq, found.id);
    const sql = `UPDATE streams SET count = count - ?, first = ${computed('min(seq)')} WHERE id = ?`;
    if (this.#figures === STORED) this.#store.db.sql(sql).run(last.count, found.id);
    tx.touch(stream);
    return last.count === DELETE_ENTRIES;
  }

  #stream(name: string): Stream | undefined {
    const { first, last, count } = this.#figures;
    const sql = `SELECT id, ${first} AS first, ${last} AS last, ${count} AS count FROM streams WHERE name = ?`;
    return this.#store.db.sql<Stream>(sql).get(name);
  }
}
