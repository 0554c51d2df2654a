import { closeSync, constants, type FSWatcher, fdatasync, openSync, watch, writeSync } from 'node:fs';
import { join, sep } from 'node:path';
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { pause } from '../../base/pause.ts';
import { Followers } from '../../kernel/engine.ts';
import type { Entry } from '../../kernel/logs.ts';
import { loadSqlite } from '../node-sqlite.ts';
import type { SqlDriver, Statement } from './driver.ts';
import { PAGE_BYTES } from './schema.ts';
import { closedError, isBusy, translateError } from './translate-error.ts';

/**
 * Time in ms that SQLite waits for a lock. It blocks the event loop, so it only covers a short commit of another
 * process. `retryWhileBusy` waits longer, without blocking and with jitter.
 */
const BUSY_TIMEOUT_MS = 5;

/**
 * Maximum random pause between two retries, in ms. A long pause would let other processes take the lock every time and
 * starve this writer.
 */
const RETRY_PAUSE_MS = 4;

/**
 * Time in ms after which the process with the lock counts as stuck. A normal wait for other writers is much shorter.
 */
const RETRY_TIMEOUT_MS = 30_000;

/**
 * A connection that prepares each statement once. No other code may open the database file: on POSIX, closing any
 * handle of a file drops all locks of this process on it, and SQLite does not notice.
 */
export class Database implements SqlDriver, Disposable {
  readonly path: string;
  readonly #connection: DatabaseSync;
  readonly #statements = new Map<string, Statement<unknown>>();
  #open = true;
  #wal: number | undefined;

  /**
   * With `immutable`, reads only the database file, without locks and without the WAL. With `readOnly`, also reads
   * the WAL of a program that may be writing.
   */
  constructor(path: string, o: { immutable?: boolean; readOnly?: boolean } = {}) {
    const { DatabaseSync } = loadSqlite();
    this.path = path;
    this.#connection = o.immutable
      ? new DatabaseSync(`${fileUri(path)}?immutable=1`, { readOnly: true })
      : new DatabaseSync(path, { readOnly: o.readOnly ?? false });
    this.#connection.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  }

  /**
   * Returns the prepared statement for an SQL text. Use only plain `?` parameters, because the oldest
   * supported Node versions do not bind numbered parameters such as `?1`.
   */
  sql<Row = Record<string, SQLOutputValue>>(text: string): Statement<Row> {
    if (!this.#open) throw closedError();
    let statement = this.#statements.get(text);
    if (!statement) {
      statement = this.#connection.prepare(text) as Statement<unknown>;
      this.#statements.set(text, statement);
    }
    return statement as Statement<Row>;
  }

  /**
   * Returns a number that changes when another connection commits, in this process or another. Commits of this
   * connection do not change it.
   */
  dataVersion(): number {
    return this.sql<{ data_version: number }>('PRAGMA data_version').get()!.data_version;
  }

  /**
   * Syncs the WAL to disk without blocking the event loop. It is for connections with `synchronous = NORMAL`, whose
   * COMMIT does not sync. Opening the WAL is safe: SQLite holds no locks on it, and it stays the same file while the
   * database is open.
   */
  async syncWal(): Promise<void> {
    this.#wal ??= openSync(`${this.path}-wal`, 'r+');
    const wal = this.#wal;
    await new Promise<void>((resolve, reject) => {
      fdatasync(wal, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** Runs several statements, or one statement that is not worth preparing. */
  exec(text: string): void {
    if (!this.#open) throw closedError();
    this.#connection.exec(text);
  }

  /**
   * Runs `work` and retries it while other processes hold the lock. `work` must be repeatable, so it may only read or
   * begin a transaction.
   */
  async retryWhileBusy<T>(work: () => T): Promise<T> {
    let began: number | undefined;
    for (;;) {
      try {
        return work();
      } catch (error) {
        // Read the clock only after a failure, because the first call takes more than a millisecond.
        began ??= performance.now();
        if (!isBusy(error) || performance.now() - began > RETRY_TIMEOUT_MS)
          throw translateError(error, this.path);
      }
      await pause(Math.random() * RETRY_PAUSE_MS);
    }
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#statements.clear();
    if (this.#wal !== undefined) closeSync(this.#wal);
    this.#connection.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** Returns the path as a URI for SQLite. */
function fileUri(path: string): string {
  return `file:${path.split(sep).map(encodeURIComponent).join('/')}`;
}

/**
 * WAL size in pages at which a checkpoint starts: large enough that checkpoints are rare, and small enough for fast
 * reads.
 */
const WAL_PAGES = (16 * 1024 * 1024) / PAGE_BYTES;

/** Maximum number of attempts to empty the WAL while other connections read and write. */
const EMPTY_WAL_TRIES = 20;

/** Source text of the worker. It is a string, because a bundle has no separate file to load. */
const CHECKPOINT_WORKER = `
const { workerData } = require('node:worker_threads');
const { DatabaseSync } = require('node:sqlite');
const db = new DatabaseSync(workerData);
db.exec('PRAGMA busy_timeout = 5; PRAGMA wal_checkpoint(PASSIVE)');
db.close();
`;

/**
 * Keeps the WAL short without blocking commits. A worker thread copies most of the WAL into the database; then a
 * short checkpoint on this thread copies the rest. With only this thread, a checkpoint would block the event loop.
 * With only the worker, SQLite would never reuse the WAL from its start. CLI processes, and SQLite versions that
 * cannot report the WAL size, use SQLite's automatic checkpoints.
 */
export class Checkpoints {
  readonly #db: Database;
  readonly #active: boolean;
  #running: Promise<void> | undefined;

  constructor(db: Database, role: 'server' | 'cli') {
    this.#db = db;
    this.#active = role === 'server' && supportsNoop();
    if (this.#active) db.exec('PRAGMA wal_autocheckpoint = 0');
  }

  /** Starts a checkpoint if the WAL is too long. Call it after each COMMIT. */
  committed(): void {
    if (!this.#active || this.#running) return;
    const { log, checkpointed } = this.#run('NOOP');
    if (log - checkpointed < WAL_PAGES) return;
    this.#running = this.#inThread().then(() => {
      this.#run('PASSIVE');
      this.#running = undefined;
    });
  }

  /**
   * Copies everything into the database and empties the WAL, which frees disk space and removes overwritten data.
   * Returns false if other connections prevented it.
   */
  async emptyWal(): Promise<boolean> {
    await this.#running;
    if (this.#active) await this.#inThread();
    for (let tries = 0; this.#run('TRUNCATE').busy !== 0; tries++) {
      if (tries === EMPTY_WAL_TRIES) return false;
      await pause(Math.random() * 20);
    }
    return true;
  }

  async close(): Promise<void> {
    await this.#running;
  }

  /** Runs a checkpoint in a worker thread. Never throws: the next checkpoint does the rest. */
  async #inThread(): Promise<void> {
    try {
      const { Worker } = await import('node:worker_threads');
      const worker = new Worker(CHECKPOINT_WORKER, { eval: true, execArgv: [], workerData: this.#db.path });
      await new Promise((resolve, reject) => worker.once('exit', resolve).once('error', reject));
    } catch {
      // The WAL stays long until the next checkpoint.
    }
  }

  /** Runs a checkpoint. Never throws: if another connection prevents it, the next checkpoint does the rest. */
  #run(mode: 'NOOP' | 'PASSIVE' | 'TRUNCATE'): { busy: number; log: number; checkpointed: number } {
    try {
      const row = this.#db.sql(`PRAGMA wal_checkpoint(${mode})`).get();
      return row as { busy: number; log: number; checkpointed: number };
    } catch {
      return { busy: 1, log: 0, checkpointed: 0 };
    }
  }
}

/**
 * Returns whether SQLite has the checkpoint mode NOOP, which came with 3.51. Older versions would run a passive
 * checkpoint instead.
 */
function supportsNoop(): boolean {
  const [major, minor] = (process.versions.sqlite ?? '0').split('.').map(Number);
  return major! > 3 || (major === 3 && minor! >= 51);
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
