import { closeSync, fdatasync, openSync } from 'node:fs';
import { sep } from 'node:path';
import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementResultingChanges } from 'node:sqlite';
import { RelayError } from '../../base/errors.ts';
import { pause } from '../../base/pause.ts';
import { loadSqlite } from '../node-sqlite.ts';
import { PAGE_BYTES } from './schema.ts';
import { isBusy, translateError } from './translate-error.ts';

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

/** A prepared statement with the type of its rows. */
export interface Statement<Row> {
  get(...values: SQLInputValue[]): Row | undefined;
  all(...values: SQLInputValue[]): Row[];
  iterate(...values: SQLInputValue[]): IterableIterator<Row>;
  run(...values: SQLInputValue[]): StatementResultingChanges;
}

/**
 * A connection that prepares each statement once. No other code may open the database file: on POSIX, closing any
 * handle of a file drops all locks of this process on it, and SQLite does not notice.
 */
export class Database implements Disposable {
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

/** Returns the error for a store that is used after it was closed. */
export function closedError(): RelayError {
  return new RelayError('store_unavailable', {
    what: 'It was closed.',
    hint: 'The program is stopping or has stopped. Start it and try again.',
  });
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
