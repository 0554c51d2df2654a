import { fstatSync, readdirSync, readSync, statSync } from 'node:fs';
import type { Database } from './database.ts';

/**
 * The header of the WAL index, whose layout SQLite documents and keeps: a counter of commits, the length of the WAL,
 * its salts and its checksum. It lives in shared memory and is rewritten by every commit of every process, before that
 * commit is answered.
 */
const HEADER_BYTES = 48;

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
      const before = mark.generation();
      await db.patiently(() => db.sql('UPDATE counter SET value = value + 1').run());
      return mark.generation() === before ? null : mark;
    } catch {
      return null;
    }
  }

  /** The same number for as long as nobody has committed anything. What is read after it is at least as new. */
  generation(): number {
    // The number of the descriptor may mean another file by now; whoever asks on is told that the store was closed.
    if (!this.#db.isOpen) return ++this.#generation;
    readSync(this.#file, this.#next, 0, HEADER_BYTES, 0);
    for (let at = 0; at < this.#next.length; at++) {
      if (this.#next[at] === this.#seen[at]) continue;
      [this.#seen, this.#next] = [this.#next, this.#seen];
      return ++this.#generation;
    }
    return this.#generation;
  }
}

/**
 * The descriptor that SQLite itself holds, for as long as the database is open. A second one of our own would, when
 * closed, drop every lock that this process has on the file.
 */
function openedBySqlite(path: string): number | null {
  const wanted = statSync(path);
  for (const name of readdirSync(OWN_FILES)) {
    try {
      const file = Number(name);
      const { dev, ino } = fstatSync(file);
      if (dev === wanted.dev && ino === wanted.ino) return file;
    } catch {
      // Listed, and closed since: the listing's own.
    }
  }
  return null;
}
