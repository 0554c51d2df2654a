import { closeSync, existsSync, openSync, rmSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Env } from '../../base/env.ts';
import { RelayError } from '../../base/errors.ts';
import type { EngineLimits } from '../../kernel/engine.ts';
import type { Staged } from '../../kernel/records.ts';
import { closedError, type Database } from './database.ts';
import { fsyncFolderSync } from './fsync.ts';
import { endsTransaction, isFull, translateError } from './translate-error.ts';

/**
 * Maximum number of operations in one transaction. It is limited so that the event loop and other processes get their
 * turn.
 */
const BATCH_OPERATIONS = 512;
/** Maximum number of bytes that one transaction writes. */
const BATCH_BYTES = 4 * 1024 * 1024;

/** Objects that the parts of an open store share. */
export interface Store {
  readonly home: string;
  readonly env: Env;
  readonly limits: EngineLimits;
  readonly db: Database;
  readonly queue: CommitQueue;
}

/**
 * A write. It must be repeatable, and synchronous, because no other code of this process may run between BEGIN and
 * COMMIT.
 */
export type Operation<T> = (tx: Transaction) => T;

interface Waiting {
  readonly operation: Operation<unknown>;
  readonly bytes: number;
  readonly frees: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Group commit: all operations that wait in one turn of the event loop become one transaction and share one fsync.
 * Each operation has its own savepoint. Callers get their answers after COMMIT.
 */
export class CommitQueue {
  readonly #db: Database;
  readonly #committed: (streams: ReadonlySet<string>) => void;
  readonly #sync: (() => Promise<void>) | null;
  readonly #reserve: Reserve | null;
  readonly #waiting: Waiting[] = [];
  #flushing: Promise<void> | undefined;
  #closed = false;

  /**
   * `committed` runs after each COMMIT with the names of the changed streams, before the callers get their answers.
   * `sync` makes the commit durable if COMMIT does not wait for the disk. The queue waits for `sync` before it
   * answers or starts the next transaction.
   */
  constructor(
    db: Database,
    committed: (streams: ReadonlySet<string>) => void,
    o: { sync?: (() => Promise<void>) | null; reserve?: Reserve | null } = {},
  ) {
    this.#db = db;
    this.#committed = committed;
    this.#sync = o.sync ?? null;
    this.#reserve = o.reserve ?? null;
  }

  /** True if no commit is running. */
  get isIdle(): boolean {
    return this.#flushing === undefined;
  }

  /**
   * Adds an operation to the next transaction. `bytes` is the approximate number of bytes that the operation writes.
   * With `frees`, the operation is treated as a deletion (see `free`).
   */
  run<T>(operation: Operation<T>, bytes = 0, frees = false): Promise<T> {
    if (frees) return this.free(operation);
    if (this.#reserve?.held === false) {
      this.#reserve.ensure();
      if (!this.#reserve.held) return Promise.reject(this.#reserve.fullError());
    }
    return this.#enqueue(operation, bytes, false);
  }

  /** Like `run`, but for deletions. On a full disk, they may use the space of the reserve file. */
  free<T>(operation: Operation<T>): Promise<T> {
    return this.#enqueue(operation, 0, true);
  }

  #enqueue<T>(operation: Operation<T>, bytes: number, frees: boolean): Promise<T> {
    if (this.#closed) return Promise.reject(closedError());
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ operation, bytes, frees, resolve: resolve as (value: unknown) => void, reject });
      this.#flushing ??= this.#flush();
    });
  }

  /** Commits the waiting operations and rejects new ones. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#flushing;
  }

  async #flush(): Promise<void> {
    while (this.#waiting.length > 0) {
      await new Promise(setImmediate);
      await this.#commit(this.#batch());
    }
    this.#flushing = undefined;
  }

  #batch(): Waiting[] {
    let count = 0;
    for (let bytes = 0; count < this.#waiting.length && count < BATCH_OPERATIONS; count++) {
      bytes += this.#waiting[count]!.bytes;
      if (count > 0 && bytes > BATCH_BYTES) break;
    }
    return this.#waiting.splice(0, count);
  }

  async #commit(batch: readonly Waiting[], lastTry = false): Promise<void> {
    try {
      await this.#db.retryWhileBusy(() => this.#db.sql('BEGIN IMMEDIATE').run());
    } catch (error) {
      for (const each of batch) each.reject(error);
      return;
    }
    const tx = new Transaction(this.#db);
    let answers: (() => void)[];
    try {
      answers = batch.map((each) =>
        batch.length === 1 ? runOperation(each, tx) : this.#runInSavepoint(each, tx),
      );
      tx.prepareCommit();
      this.#db.sql('COMMIT').run();
    } catch (error) {
      this.#rollback();
      tx.rollBackTo(0);
      const again = !lastTry && endsTransaction(error);
      if (again) return this.#oneByOne(batch);
      if (batch[0]!.frees && this.#reserve?.held && isFull(error, this.#db.path)) {
        this.#reserve.release();
        return this.#commit(batch, true);
      }
      batch[0]!.reject(translateError(error, this.#db.path));
      return;
    }
    try {
      await this.#sync?.();
    } catch (error) {
      // The commit may be lost in a power cut, so report a failure.
      for (const each of batch) each.reject(translateError(error, this.#db.path));
      return;
    }
    tx.committed();
    this.#committed(tx.streams);
    for (const answer of answers) answer();
  }

  /**
   * Retries the operations of a failed batch one by one, so that only the faulty ones fail. First runs a checkpoint:
   * SQLite can then overwrite the WAL instead of extending it, which may help on a full disk.
   */
  async #oneByOne(batch: readonly Waiting[]): Promise<void> {
    try {
      this.#db.sql('PRAGMA wal_checkpoint(PASSIVE)').get();
    } catch {
      // The disk has no room for the checkpoint either. Continue without it.
    }
    for (const each of batch) await this.#commit([each], true);
  }

  #runInSavepoint(each: Waiting, tx: Transaction): () => void {
    const mark = tx.mark();
    this.#db.sql('SAVEPOINT operation').run();
    try {
      const answer = runOperation(each, tx);
      this.#db.sql('RELEASE operation').run();
      return answer;
    } catch (error) {
      if (endsTransaction(error)) throw error;
      this.#db.sql('ROLLBACK TO operation').run();
      this.#db.sql('RELEASE operation').run();
      tx.rollBackTo(mark);
      return () => each.reject(translateError(error, this.#db.path));
    }
  }

  #rollback(): void {
    try {
      this.#db.sql('ROLLBACK').run();
    } catch {
      // Ignore the error of the rollback: SQLite has already rolled back by itself.
    }
  }
}

/** Collects side effects of the operations in one transaction, in addition to their SQL. */
export class Transaction {
  readonly streams = new Set<string>();
  readonly #undo: (() => void)[] = [];
  readonly #after: (() => void)[] = [];
  readonly #folders = new Set<string>();
  readonly #db: Database;
  #first = 0;
  #last = 0;

  constructor(db: Database) {
    this.#db = db;
  }

  /**
   * Returns the next number of the store. All revisions and sequence numbers come from this counter, so no number is
   * used twice.
   */
  next(): number {
    if (this.#last === 0) {
      const row = this.#db.sql<{ value: number }>('SELECT value FROM counter').get()!;
      this.#first = this.#last = row.value;
    }
    return ++this.#last;
  }

  /** Marks all numbers up to this one as used. */
  skipTo(number: number): void {
    this.#last = Math.max(this.next() - 1, number);
  }

  /** Wakes the subscribers of the stream after the commit. */
  touch(stream: string): void {
    this.streams.add(stream);
  }

  /** Syncs the folder to disk as part of the commit, so that new file names survive a power cut. */
  syncFolder(folder: string): void {
    this.#folders.add(folder);
  }

  /** Registers a step that runs if this operation is rolled back. */
  onRollback(step: () => void): void {
    this.#undo.push(step);
  }

  /** Registers a step that runs after the commit. */
  onCommit(step: () => void): void {
    this.#after.push(step);
  }

  /** Returns the current number of rollback steps, for `rollBackTo`. */
  mark(): number {
    return this.#undo.length;
  }

  /** Runs the rollback steps that were registered after the mark, newest first. */
  rollBackTo(mark: number): void {
    for (const step of this.#undo.splice(mark).reverse()) step();
  }

  /** Runs the steps that `onCommit` registered. */
  committed(): void {
    for (const step of this.#after) step();
  }

  /**
   * Writes the counter and syncs the folders, just before COMMIT. The numbers of rolled-back operations are
   * skipped, because no caller has seen them.
   */
  prepareCommit(): void {
    if (this.#last > this.#first) this.#db.sql('UPDATE counter SET value = ?').run(this.#last);
    for (const folder of this.#folders) fsyncFolderSync(folder);
  }
}

function runOperation(each: Waiting, tx: Transaction): () => void {
  const value = each.operation(tx);
  return () => each.resolve(value);
}

/**
 * A write that waits for the transaction of another write. Until then it exists only in memory; but the bytes of a
 * body may already be in a segment.
 */
export class StagedWrite implements Staged {
  readonly key: string;
  readonly write: Operation<void>;
  /** Approximate number of bytes that the write adds to the transaction. */
  readonly bytes: number;

  constructor(key: string, write: Operation<void>, bytes: number) {
    this.key = key;
    this.write = write;
    this.bytes = bytes;
  }
}

/** Runs the staged writes inside the transaction of the write that lists them. */
export function writeStaged(tx: Transaction, staged: readonly Staged[] = []): void {
  for (const each of staged) if (each instanceof StagedWrite) each.write(tx);
}

/** Returns the approximate number of bytes that the staged writes will write. */
export function stagedBytes(staged: readonly Staged[] = []): number {
  return staged.reduce((sum, each) => sum + (each instanceof StagedWrite ? each.bytes : 0), 0);
}

/** Size of the reserve file in bytes: enough for SQLite's WAL and shared-memory file and a few hundred deletions. */
const RESERVE_BYTES = 1024 * 1024;

/**
 * A file of zeros that reserves disk space. On a full disk it is deleted, so that deletions and revocations can still
 * be written. Other writes are rejected until there is room for the file again.
 */
export class Reserve {
  readonly #path: string;
  /** True if the file exists. False while the disk has no room for it. */
  held = false;

  constructor(home: string) {
    this.#path = join(home, 'relay.db-reserve');
  }

  /** Creates the file if it is missing and the disk has room. */
  ensure(): void {
    this.held = true;
    if (existsSync(this.#path)) return;
    try {
      const file = openSync(this.#path, 'wx', 0o600);
      try {
        for (let left = RESERVE_BYTES; left > 0; ) left -= writeSync(file, Buffer.alloc(left));
      } finally {
        closeSync(file);
      }
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // Ignore other errors. The store itself reports them.
      if (code === 'ENOSPC' || code === 'EDQUOT') this.release();
    }
  }

  /** Deletes the file to free its space. */
  release(): void {
    rmSync(this.#path, { force: true });
    this.held = false;
  }

  /** Returns the warning that `Engine.state` reports while there is no reserve file. */
  warning(): string {
    const { message, hint } = this.fullError();
    return `${message.replace('Nothing was stored', 'Nothing new is stored')} ${hint}`;
  }

  /** Returns the error for writes while there is no reserve file. */
  fullError(): RelayError {
    return new RelayError('store_full', { what: `the disk under ${dirname(this.#path)} is full` });
  }
}
