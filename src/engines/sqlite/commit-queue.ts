import { closeSync, existsSync, openSync, rmSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Env } from '../../base/env.ts';
import { RelayError } from '../../base/errors.ts';
import type { EngineLimits } from '../../kernel/engine.ts';
import type { Staged } from '../../kernel/records.ts';
import { closedError, type Database } from './database.ts';
import { fsyncFolderSync } from './fsync.ts';
import { endsTransaction, isFull, translateError } from './translate-error.ts';

/** What goes into one transaction at most, so that the event loop and other processes get their turn. */
const BATCH_OPERATIONS = 512;
const BATCH_BYTES = 4 * 1024 * 1024;

/** What the parts of an open store share. */
export interface Store {
  readonly home: string;
  readonly env: Env;
  readonly limits: EngineLimits;
  readonly db: Database;
  readonly queue: CommitQueue;
}

/** Repeatable, and synchronous: between BEGIN and COMMIT nothing else of this process runs. */
export type Operation<T> = (tx: Transaction) => T;

interface Waiting {
  readonly operation: Operation<unknown>;
  readonly bytes: number;
  readonly frees: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Group commit: what waits in one turn of the event loop becomes one transaction, each operation under its own
 * savepoint, and is answered when the transaction is committed. One fsync then serves all of them.
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
   * `committed` runs after each COMMIT with the streams it touched, before anyone is answered. `lasting` is waited for between
   * COMMIT and all that follows, the next transaction included, where the COMMIT itself does not wait for the disk.
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

  /** Whether nothing is being committed. */
  get isIdle(): boolean {
    return this.#flushing === undefined;
  }

  /** `bytes`: about how much it writes. `frees`: as `free` does. */
  run<T>(operation: Operation<T>, bytes = 0, frees = false): Promise<T> {
    if (frees) return this.free(operation);
    if (this.#reserve?.held === false) {
      this.#reserve.ensure();
      if (!this.#reserve.held) return Promise.reject(this.#reserve.fullError());
    }
    return this.#enqueue(operation, bytes, false);
  }

  /** For what deletes: on a full disk it may use the reserve. */
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

  /** Commits what waits, and takes no more. */
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
      // It may last or not: nobody is told that it does.
      for (const each of batch) each.reject(translateError(error, this.#db.path));
      return;
    }
    tx.committed();
    this.#committed(tx.streams);
    for (const answer of answers) answer();
  }

  /**
   * What failed together is tried apart, so that only those fail that have to. On a full disk a checkpoint may make
   * room first: the WAL then starts anew inside the space it has.
   */
  async #oneByOne(batch: readonly Waiting[]): Promise<void> {
    try {
      this.#db.sql('PRAGMA wal_checkpoint(PASSIVE)').get();
    } catch {
      // Then there is no room for that either.
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
      // SQLite rolls back by itself where it cannot go on.
    }
  }
}

/** What the operations of one transaction do besides SQL. */
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

  /** The next number of the store: every revision and sequence comes from here, so none is ever given twice. */
  next(): number {
    if (this.#last === 0) {
      const row = this.#db.sql<{ value: number }>('SELECT value FROM counter').get()!;
      this.#first = this.#last = row.value;
    }
    return ++this.#last;
  }

  /** Numbers up to this one count as given. */
  skipTo(number: number): void {
    this.#last = Math.max(this.next() - 1, number);
  }

  /** Subscribers of the stream are told once this is committed. */
  touch(stream: string): void {
    this.streams.add(stream);
  }

  /** The names in the folder last once this is committed. */
  syncFolder(folder: string): void {
    this.#folders.add(folder);
  }

  /** Runs if what this operation did is taken back after all. */
  onRollback(step: () => void): void {
    this.#undo.push(step);
  }

  /** Runs once this is committed. */
  onCommit(step: () => void): void {
    this.#after.push(step);
  }

  mark(): number {
    return this.#undo.length;
  }

  rollBackTo(mark: number): void {
    for (const step of this.#undo.splice(mark).reverse()) step();
  }

  committed(): void {
    for (const step of this.#after) step();
  }

  /** Numbers that an operation took and gave up are lost; nobody has seen them. */
  prepareCommit(): void {
    if (this.#last > this.#first) this.#db.sql('UPDATE counter SET value = ?').run(this.#last);
    for (const folder of this.#folders) fsyncFolderSync(folder);
  }
}

function runOperation(each: Waiting, tx: Transaction): () => void {
  const value = each.operation(tx);
  return () => each.resolve(value);
}

/** A write that waits for the transaction of another. Nothing but memory and segments knows of it before. */
export class StagedWrite implements Staged {
  readonly key: string;
  readonly write: Operation<void>;
  /** About how much it writes. */
  readonly bytes: number;

  constructor(key: string, write: Operation<void>, bytes: number) {
    this.key = key;
    this.write = write;
    this.bytes = bytes;
  }
}

/** Takes along what was staged, inside the transaction of what names it. */
export function writeStaged(tx: Transaction, staged: readonly Staged[] = []): void {
  for (const each of staged) if (each instanceof StagedWrite) each.write(tx);
}

export function stagedBytes(staged: readonly Staged[] = []): number {
  return staged.reduce((sum, each) => sum + (each instanceof StagedWrite ? each.bytes : 0), 0);
}

/** Enough for SQLite's files beside the database and for some hundred deletions. */
const RESERVE_BYTES = 1024 * 1024;

/**
 * A file of zeros, given up on a full disk so that what frees room or takes rights away can still be written. Until
 * there is room for it again, nothing else is.
 */
export class Reserve {
  readonly #path: string;
  /** False while there is no room for it. */
  held = false;

  constructor(home: string) {
    this.#path = join(home, 'relay.db-reserve');
  }

  /** Makes it where it is missing and there is room. */
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
      // Whatever else is wrong, the store itself will say.
      if (code === 'ENOSPC' || code === 'EDQUOT') this.release();
    }
  }

  release(): void {
    rmSync(this.#path, { force: true });
    this.held = false;
  }

  warning(): string {
    const { message, hint } = this.fullError();
    return `${message.replace('Nothing was stored', 'Nothing new is stored')} ${hint}`;
  }

  /** Why nothing but deletions is written while there is none. */
  fullError(): RelayError {
    return new RelayError('store_full', { what: `the disk under ${dirname(this.#path)} is full` });
  }
}
