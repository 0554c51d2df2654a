import { fstatSync, readdirSync, readSync, statSync } from 'node:fs';
import type { Database } from './database.ts';

/**
 * The header of the WAL index, whose layout SQLite documents and keeps: a counter of commits, the length of the WAL,
 * its salts and its checksum. It lives in shared memory and is rewritten by every commit of every process, before that
 * commit is answered.
 */
const HEADER_BYTES = 48;

/** Its first word, in every SQLite that has a WAL. No other file of a store begins so. */
const HEADER_VERSION = 3_007_000;

/** How long a server that starts waits for its turn to write: someone who holds the lock for good must not keep it from opening. */
const TRIAL_MS = 250;

/** Where a process finds its own open files. */
const OWN_FILES = '/proc/self/fd';

/**
 * Tells without asking SQLite, which takes and gives back a lock for every question, whether anything at all was
 * committed since the last look.
 */
export class ChangeMark {
  readonly #db: Database;
  readonly #file: number;
  #seen = new Int32Array(HEADER_BYTES / 4);
  #next = new Int32Array(HEADER_BYTES / 4);
  #generation = 0;

  private constructor(db: Database, file: number) {
    this.#db = db;
    this.#file = file;
  }

  /** Null where it cannot be had, or where a commit was seen not to show. */
  static async of(db: Database): Promise<ChangeMark | null> {
    try {
      const file = openedBySqlite(`${db.path}-shm`);
      if (file === null) return null;
      const mark = new ChangeMark(db, file);
      if (!mark.#look()) return null;
      const before = mark.generation();
      await db.patiently(() => db.sql('UPDATE counter SET value = value + 1').run(), TRIAL_MS);
      return mark.generation() === before ? null : mark;
    } catch {
      return null;
    }
  }

  /** The same number for as long as nobody has committed anything. What is read after it is at least as new. */
  generation(): number {
    // The number of the descriptor may mean another file by now; whoever asks on is told that the store was closed.
    if (!this.#db.isOpen || !this.#look()) return ++this.#generation;
    for (let at = 0; at < this.#next.length; at++) {
      if (this.#next[at] === this.#seen[at]) continue;
      [this.#seen, this.#next] = [this.#next, this.#seen];
      return ++this.#generation;
    }
    return this.#generation;
  }

  /** Reads it; false where there is no whole header. */
  #look(): boolean {
    try {
      const bytes = readSync(this.#file, this.#next, 0, HEADER_BYTES, 0);
      return bytes === HEADER_BYTES && this.#next[0] === HEADER_VERSION;
    } catch {
      return false;
    }
  }
}

/**
 * The descriptor that SQLite itself holds, for as long as the database is open. A second one of our own would, when
 * closed, drop every lock that this process has on the file.
 */
function openedBySqlite(path: string): number | null {
  // As BigInt: some file systems have numbers so large that those of neighbours would be rounded to the same.
  const wanted = statSync(path, { bigint: true });
  for (const name of readdirSync(OWN_FILES)) {
    try {
      const file = Number(name);
      const { dev, ino } = fstatSync(file, { bigint: true });
      if (dev === wanted.dev && ino === wanted.ino) return file;
    } catch {
      // Listed, and closed since: the listing's own.
    }
  }
  return null;
}
