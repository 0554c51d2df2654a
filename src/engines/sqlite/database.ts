import { once } from 'node:events';
import { closeSync, fdatasync, openSync } from 'node:fs';
import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementResultingChanges } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { RelayError } from '../../base/errors.ts';
import { pause } from '../../base/pause.ts';
import { loadSqlite } from '../node-sqlite.ts';
import { PAGE_BYTES } from './schema.ts';
import { isBusy, translateError } from './translate-error.ts';

/**
 * How long SQLite itself waits for a lock, blocking the event loop: just long enough for a commit of another
 * process to end. Longer waits are ours, asynchronous and jittered, so that nobody starves.
 */
const BUSY_TIMEOUT_MS = 5;

/** At most, and at random: short, so that nobody who has waited long waits longer still. */
const RETRY_PAUSE_MS = 4;

/** Far longer than any fair wait; whoever holds the lock as long is stuck. */
const RETRY_TIMEOUT_MS = 30_000;

const fdatasyncAsync = promisify(fdatasync);

/** A prepared statement, and what its text says that the rows it gives are. */
export interface Statement<Row> {
  get(...values: SQLInputValue[]): Row | undefined;
  all(...values: SQLInputValue[]): Row[];
  iterate(...values: SQLInputValue[]): IterableIterator<Row>;
  run(...values: SQLInputValue[]): StatementResultingChanges;
}

/**
 * A connection, its statements prepared when first used. The database itself is never opened in any other way: closing it
 * would drop the locks that every connection of this process has on it, behind SQLite's back.
 */
export class Database implements Disposable {
  readonly path: string;
  readonly #connection: DatabaseSync;
  readonly #statements = new Map<string, Statement<unknown>>();
  #open = true;
  #wal: number | undefined;

  /**
   * `asItIs`: only to look at the file itself, without locks, and without its WAL or making one. `readOnly`: to read what
   * another program may be writing, its WAL included.
   */
  constructor(path: string, o: { immutable?: boolean; readOnly?: boolean } = {}) {
    const { DatabaseSync } = loadSqlite();
    this.path = path;
    this.#connection = o.immutable
      ? new DatabaseSync(`${fileUri(path)}?immutable=1`, { readOnly: true })
      : new DatabaseSync(path, { readOnly: o.readOnly ?? false });
    this.#connection.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  }

  /** Prepared once. Parameters are `?` alone: the oldest Nodes that we support bind nothing to a numbered one, `?1`. */
  sql<Row = Record<string, SQLOutputValue>>(text: string): Statement<Row> {
    if (!this.#open) throw closedError();
    let statement = this.#statements.get(text);
    if (!statement) {
      statement = this.#connection.prepare(text) as Statement<unknown>;
      this.#statements.set(text, statement);
    }
    return statement as Statement<Row>;
  }

  /** Differs from the last one when another connection, of whichever process, has committed since. Ours do not count. */
  dataVersion(): number {
    return this.sql<{ data_version: number }>('PRAGMA data_version').get()!.data_version;
  }

  /**
   * Makes what was committed last, for a connection that does not do so with each COMMIT (`synchronous = NORMAL`), while the loop
   * goes on. The WAL stays the same file for as long as anyone has the database open, and nobody has locks on it.
   */
  async syncWal(): Promise<void> {
    this.#wal ??= openSync(`${this.path}-wal`, 'r+');
    await fdatasyncAsync(this.#wal);
  }

  /** Several statements, or one that is not worth keeping. */
  exec(text: string): void {
    if (!this.#open) throw closedError();
    this.#connection.exec(text);
  }

  /** Runs `work`, again while others are in the way. It must be repeatable: it reads, or it begins a transaction. */
  async retryWhileBusy<T>(work: () => T): Promise<T> {
    let began: number | undefined;
    for (;;) {
      try {
        return work();
      } catch (error) {
        // Only now: a first look at the clock costs a command over a millisecond.
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

/** Written out where a path needs no more than that: what else makes URLs of paths takes milliseconds to load. */
function fileUri(path: string): string {
  return /^[\w./-]+$/.test(path) ? `file:${path}` : pathToFileURL(path).href;
}

export function closedError(): RelayError {
  return new RelayError('store_unavailable', { what: 'It was closed.' });
}

/** How long the WAL gets before it is copied into the database: rare enough to be cheap, short enough to read fast. */
const WAL_PAGES = (16 * 1024 * 1024) / PAGE_BYTES;

/** How often to try to empty the WAL between the reads and writes of others. */
const EMPTY_WAL_TRIES = 20;

/** As source, so that it also runs from a bundle, where there is no file to load. */
const CHECKPOINT_WORKER = `
const { workerData } = require('node:worker_threads');
const { DatabaseSync } = require('node:sqlite');
const db = new DatabaseSync(workerData);
db.exec('PRAGMA busy_timeout = 5; PRAGMA wal_checkpoint(PASSIVE)');
db.close();
`;

/**
 * Keeps the WAL short without holding up commits: a thread copies most of it, then a short checkpoint here does what
 * has come since. Done here alone it would block the loop; in the thread alone the WAL would never start anew.
 * Where SQLite cannot say how long the WAL is, and in short-lived processes, SQLite's own way is kept.
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

  /** After each COMMIT. */
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
   * Brings everything into the database and empties the WAL, so that space that was freed goes back to the disk and
   * what was overwritten is nowhere to be read. False where somebody was in the way all the time.
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

  /** Never fails: what is not done now is done the next time. */
  async #inThread(): Promise<void> {
    try {
      await once(
        new Worker(CHECKPOINT_WORKER, { eval: true, execArgv: [], workerData: this.#db.path }),
        'exit',
      );
    } catch {
      // The WAL stays longer meanwhile.
    }
  }

  /** Being in somebody's way is fine: the rest is done next time. */
  #run(mode: 'NOOP' | 'PASSIVE' | 'TRUNCATE'): { busy: number; log: number; checkpointed: number } {
    try {
      const row = this.#db.sql(`PRAGMA wal_checkpoint(${mode})`).get();
      return row as { busy: number; log: number; checkpointed: number };
    } catch {
      return { busy: 1, log: 0, checkpointed: 0 };
    }
  }
}

/** SQLite 3.51 came to know it; before, the word is taken for a checkpoint. */
function supportsNoop(): boolean {
  const [major, minor] = (process.versions.sqlite ?? '0').split('.').map(Number);
  return major! > 3 || (major === 3 && minor! >= 51);
}
