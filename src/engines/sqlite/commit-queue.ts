import type { Env } from '../../base/env.ts';
import type { RelayError } from '../../base/errors.ts';
import type { EngineLimits } from '../../kernel/engine.ts';
import type { Staged } from '../../kernel/records.ts';
import type { Database } from './database.ts';
import type { SqlDriver } from './driver.ts';
import { closedError, endsTransaction, isFull, translateError } from './translate-error.ts';

/**
 * Maximum number of operations in one transaction. It is limited so that the event loop and other processes get their
 * turn.
 */
const BATCH_OPERATIONS = 512;
/** Maximum number of bytes that one transaction writes. */
const BATCH_BYTES = 4 * 1024 * 1024;

/**
 * A write. It must be repeatable, and synchronous, because no other code of this process may run between BEGIN and
 * COMMIT.
 */
export type Operation<T> = (tx: Transaction) => T;

/** Runs writes in transactions. Callers get their answers when the transaction is committed. */
export interface Commits {
  /** `bytes` is the approximate number of bytes that the operation writes. `frees` marks a deletion. */
  run<T>(operation: Operation<T>, bytes?: number, frees?: boolean): Promise<T>;
  /** Like `run`, but for deletions, which a full store still accepts. */
  free<T>(operation: Operation<T>): Promise<T>;
}

/** What records, logs and the search index need of an open store. */
export interface RowStore {
  readonly env: Env;
  readonly limits: EngineLimits;
  readonly db: SqlDriver;
  readonly queue: Commits;
}

/** Disk space that is reserved for deletions on a full disk (`Reserve` in `opening.ts`). */
export interface ReservedSpace {
  readonly held: boolean;
  ensure(): void;
  release(): void;
  fullError(): RelayError;
}

/** Objects that the parts of an open store on this machine share. */
export interface Store extends RowStore {
  readonly home: string;
  readonly db: Database;
  readonly queue: CommitQueue;
}

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
export class CommitQueue implements Commits {
  readonly #db: Database;
  readonly #committed: (streams: ReadonlySet<string>) => void;
  readonly #sync: (() => Promise<void>) | null;
  readonly #reserve: ReservedSpace | null;
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
    o: { sync?: (() => Promise<void>) | null; reserve?: ReservedSpace | null } = {},
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
    const tx = new Transaction(new CounterRow(this.#db));
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

function runOperation(each: Waiting, tx: Transaction): () => void {
  const value = each.operation(tx);
  return () => each.resolve(value);
}

/** The source of the revisions and sequence numbers of a store. */
export interface Numbers {
  next(): number;
  /** Marks all numbers up to this one as used. */
  skipTo(number: number): void;
  /** Writes the used numbers, just before COMMIT. */
  save(): void;
}

/** Reads the counter once per transaction, because other processes may have changed it. */
export class CounterRow implements Numbers {
  readonly #db: SqlDriver;
  #first = 0;
  #last = 0;

  constructor(db: SqlDriver) {
    this.#db = db;
  }

  next(): number {
    if (this.#last === 0) {
      const row = this.#db.sql<{ value: number }>('SELECT value FROM counter').get()!;
      this.#first = this.#last = row.value;
    }
    return ++this.#last;
  }

  skipTo(number: number): void {
    this.#last = Math.max(this.next() - 1, number);
  }

  save(): void {
    if (this.#last > this.#first) this.#db.sql('UPDATE counter SET value = ?').run(this.#last);
  }
}

/** Collects side effects of the operations in one transaction, in addition to their SQL. */
export class Transaction {
  readonly streams = new Set<string>();
  readonly #undo: (() => void)[] = [];
  readonly #after: (() => void)[] = [];
  readonly #before = new Map<string, () => void>();
  readonly #numbers: Numbers;

  constructor(numbers: Numbers) {
    this.#numbers = numbers;
  }

  /**
   * Returns the next number of the store. All revisions and sequence numbers come from this counter, so no number is
   * used twice.
   */
  next(): number {
    return this.#numbers.next();
  }

  /** Marks all numbers up to this one as used. */
  skipTo(number: number): void {
    this.#numbers.skipTo(number);
  }

  /** Wakes the subscribers of the stream after the commit. */
  touch(stream: string): void {
    this.streams.add(stream);
  }

  /** Registers a step that runs just before the commit. Of several steps with one name, only one runs. */
  beforeCommit(name: string, step: () => void): void {
    this.#before.set(name, step);
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
   * Writes the counter and runs the steps of `beforeCommit`, just before COMMIT. The numbers of rolled-back
   * operations are not used again. Such gaps are harmless.
   */
  prepareCommit(): void {
    this.#numbers.save();
    for (const step of this.#before.values()) step();
  }
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
