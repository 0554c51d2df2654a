import { closeSync, constants, type FSWatcher, openSync, watch, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Json } from '../../base/json.ts';
import { Followers } from '../../kernel/engine.ts';
import type { AppendOptions, Entry, LogPage, Logs, ReadOptions } from '../../kernel/logs.ts';
import type { AnnouncingEntry } from '../../kernel/records.ts';
import { checkAfter, checkKey, checkLimit, encodeJson } from '../../kernel/validate-input.ts';
import { StagedWrite, type Store, stagedBytes, type Transaction, writeStaged } from './commit-queue.ts';
import type { Database } from './database.ts';

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

/**
 * Logs in SQLite. Sequence numbers come from the store's single counter. The id of an entry is deleted together with
 * the entry, so a retry after a trim or drop appends a new entry.
 */
export class SqliteLogs implements Logs {
  readonly #store: Store;
  readonly #subscriptions: Subscriptions;

  constructor(store: Store, subscriptions: Subscriptions) {
    this.#store = store;
    this.#subscriptions = subscriptions;
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
    const found = this.#stream(stream);
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
    if (streamId === undefined) {
      const sql = 'INSERT INTO streams (id, name, first, last, count, trimmed) VALUES (?, ?, ?, ?, 1, 0)';
      this.#store.db.sql(sql).run(owner, stream, seq, seq);
    } else {
      this.#store.db.sql('UPDATE streams SET last = ?, count = count + 1 WHERE id = ?').run(seq, owner);
    }
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
    this.#store.db
      .sql(
        `UPDATE streams SET trimmed = ?, count = count - ?,
        first = (SELECT min(seq) FROM entries WHERE stream = streams.id) WHERE id = ?`,
      )
      .run(last.seq, last.count, found.id);
    tx.touch(stream);
    return last.count === DELETE_ENTRIES;
  }

  #stream(name: string): Stream | undefined {
    const sql = 'SELECT id, first, last, count FROM streams WHERE name = ?';
    return this.#store.db.sql<Stream>(sql).get(name);
  }
}

/** Name of a file in the home to which processes write to wake each other. */
const WAKE_FILE = 'wake';

/** Time in ms between two polls, which find commits whose wake-up was lost. */
const POLL_INTERVAL_MS = 1000;

/**
 * Estimated cost of a poll in ms per followed stream. Polls are rare enough to take at most half of the time.
 */
const POLL_COST_MS = 0.02;

/**
 * Wakes subscribers after commits. Subscribers of this process are woken right after COMMIT. For other processes,
 * each commit writes to the wake file, which they watch while they have a subscriber. Nobody reads the content of the
 * file, and a wake-up may get lost.
 */
export class Subscriptions {
  readonly #db: Database;
  readonly #followers = new Followers();
  readonly #path: string;
  #fd = -1;
  #watcher: FSWatcher | undefined;
  #timer: NodeJS.Timeout | undefined;
  #version = -1;
  #pollPending = false;
  #polledAt = 0;

  constructor(db: Database, home: string) {
    this.#db = db;
    this.#path = join(home, WAKE_FILE);
  }

  /** Yields entries until the signal aborts. `read` returns the next page of the stream after a sequence number. */
  async *follow(
    stream: string,
    after: number,
    signal: AbortSignal,
    read: (after: number) => Promise<Entry[]>,
  ): AsyncGenerator<Entry> {
    if (!this.#timer) this.#start();
    try {
      yield* this.#followers.follow(stream, after, signal, read);
    } finally {
      if (this.#followers.streams === 0) this.#stop();
    }
  }

  /** Wakes the subscribers of these streams in this process, and all subscribers in other processes. */
  committed(streams: ReadonlySet<string>): void {
    for (const stream of streams) this.#followers.wake(stream);
    try {
      if (this.#fd < 0) this.#fd = this.#openWakeFile();
      writeSync(this.#fd, '.', 0);
    } catch {
      // The commit is done. Other processes find it at their next poll.
    }
  }

  /** Ends all subscriptions. Until `close`, commits still wake other processes. */
  end(): void {
    this.#followers.end();
    this.#stop();
  }

  close(): void {
    this.end();
    if (this.#fd >= 0) closeSync(this.#fd);
    this.#fd = -1;
  }

  /**
   * Starts polling and watching. The timer keeps the process alive, because a subscriber waits for entries. The
   * watcher does not.
   */
  #start(): void {
    this.#timer = setInterval(() => this.#poll(), POLL_INTERVAL_MS);
    try {
      closeSync(this.#openWakeFile());
      this.#watcher = watch(this.#path, { persistent: false }, () => this.#poll());
      this.#watcher.on('error', () => this.#unwatch());
    } catch {
      // Continue without a watcher: some file systems cannot be watched, and the system limits the number of watches.
    }
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#unwatch();
  }

  #unwatch(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  /** Schedules a poll, unless one is already scheduled. */
  #poll(): void {
    if (this.#pollPending) return;
    this.#pollPending = true;
    const poll = () => {
      this.#pollPending = false;
      this.#polledAt = performance.now();
      if (this.#timer && this.#changed()) this.#followers.wakeAll();
    };
    const rest = 2 * POLL_COST_MS * this.#followers.streams;
    const wait = this.#polledAt + rest - performance.now();
    if (wait > 1) setTimeout(poll, wait);
    else setImmediate(poll);
  }

  /** Returns whether another process has committed since the last poll. */
  #changed(): boolean {
    try {
      const version = this.#db.dataVersion();
      if (version === this.#version) return false;
      this.#version = version;
      return true;
    } catch {
      return false;
    }
  }

  #openWakeFile(): number {
    return openSync(this.#path, constants.O_WRONLY | constants.O_CREAT, 0o600);
  }
}
