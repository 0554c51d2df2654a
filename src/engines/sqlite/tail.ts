import { freeze } from '../../base/frozen.ts';
import type { Entry } from '../../kernel/logs.ts';
import type { Database } from './database.ts';

/** What the newest entries of a stream may take in memory, for all of its subscribers together. */
const TAIL_ENTRIES = 256;
const TAIL_CHARS = 256 * 1024;

interface Item {
  readonly entry: Entry;
  readonly chars: number;
  /** Who has not read this far has missed entries that were trimmed before they got here. */
  readonly trimmed: number;
}

interface Row {
  readonly id: number;
  readonly first: number;
  readonly trimmed: number;
  readonly seq: number | null;
  readonly at: number;
  readonly data: string;
}

/**
 * The newest entries of one stream, read once for all subscribers in this process. Holds everything with a
 * sequence above `from` that the last look at the stream found; who is further behind reads the database.
 */
export class Tail {
  readonly stream: string;
  /** Subscribers that have read everything, waiting for more. */
  readonly waiting = new Set<() => void>();
  subscribers = 0;
  #id: number | null = null;
  #from = 0;
  #to = -1;
  #chars = 0;
  #items: Item[] = [];

  constructor(stream: string) {
    this.stream = stream;
  }

  get from(): number {
    return this.#from;
  }

  /** The first entry behind `after`, null where there is none yet. Only for `after` of at least `from`. */
  next(after: number): Entry | null {
    let low = 0;
    let high = this.#items.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#items[middle]!.entry.seq <= after) low = middle + 1;
      else high = middle;
    }
    const item = this.#items[low];
    if (!item) return null;
    return after < item.trimmed ? { ...item.entry, gap: true } : item.entry;
  }

  /** Takes in what has changed since the last look: new entries, a trim, a drop. Wakes who waits for entries. */
  refresh(db: Database): void {
    if (this.#to < 0) {
      this.#begin(db);
      return;
    }
    const sql = `SELECT s.id, s.first, s.trimmed, e.seq, e.at, e.data
      FROM streams s LEFT JOIN entries e ON e.stream = s.id AND e.seq > ? WHERE s.name = ? ORDER BY e.seq DESC`;
    const found: Row[] = [];
    let chars = 0;
    let all = true;
    for (const row of db.sql<Row>(sql).iterate(this.#to, this.stream)) {
      chars += row.data?.length ?? 0;
      if (found.length === TAIL_ENTRIES || (found.length > 0 && chars > TAIL_CHARS)) {
        all = false;
        break;
      }
      found.push(row);
    }
    const stream = found[0];
    if (stream?.id !== this.#id) this.#clear(stream?.id ?? null);
    if (!stream) return;
    this.#forget(stream.first, stream.trimmed);
    if (stream.seq === null) return;
    if (!all) this.#clear(stream.id);
    for (const row of found.reverse()) this.#take(row);
    if (!all) this.#from = found[0]!.seq! - 1;
    this.#shrink();
    for (const wake of this.waiting) wake();
    this.waiting.clear();
  }

  /** Where the stream ends now: what is older is not worth holding. */
  #begin(db: Database): void {
    const sql = 'SELECT id, last FROM streams WHERE name = ?';
    const row = db.sql<{ id: number; last: number }>(sql).get(this.stream);
    this.#id = row?.id ?? null;
    this.#from = this.#to = row?.last ?? 0;
  }

  #take(row: Row): void {
    const entry = { seq: row.seq!, at: row.at, data: freeze(JSON.parse(row.data)) };
    this.#items.push({ entry, chars: row.data.length, trimmed: this.#items.length === 0 ? row.trimmed : 0 });
    this.#chars += row.data.length;
    this.#to = row.seq!;
  }

  #shrink(): void {
    let gone = 0;
    for (; this.#items.length - gone > TAIL_ENTRIES || this.#chars > TAIL_CHARS; gone++) {
      if (gone === this.#items.length - 1) break;
      this.#chars -= this.#items[gone]!.chars;
    }
    if (gone === 0) return;
    this.#from = this.#items[gone - 1]!.entry.seq;
    this.#items.splice(0, gone);
  }

  /** What was trimmed is trimmed here too, so that whoever missed it is told. */
  #forget(first: number, trimmed: number): void {
    let gone = 0;
    for (; gone < this.#items.length && this.#items[gone]!.entry.seq < first; gone++) {
      this.#chars -= this.#items[gone]!.chars;
    }
    if (gone === 0) return;
    this.#items.splice(0, gone);
    this.#from = Math.max(this.#from, trimmed);
  }

  /** The stream is another one than before, or none: what is held is no longer part of it. */
  #clear(id: number | null): void {
    this.#id = id;
    this.#items = [];
    this.#chars = 0;
    this.#from = this.#to;
  }
}

/**
 * A page of a stream, at most `limit` entries, fewer where they have more than `maxChars` together. One statement, so that
 * the entries and what was trimmed before them are of the same moment.
 */
export function readEntries(
  db: Database,
  stream: string,
  after: number,
  limit: number,
  maxChars = Number.POSITIVE_INFINITY,
): Entry[] {
  const sql = `SELECT e.seq, e.at, e.data, s.trimmed FROM streams s JOIN entries e ON e.stream = s.id
    WHERE s.name = ? AND e.seq > ? ORDER BY e.seq LIMIT ?`;
  const entries: Entry[] = [];
  let chars = 0;
  const rows = db.sql<{ seq: number; at: number; data: string; trimmed: number }>(sql);
  for (const { seq, at, data, trimmed } of rows.iterate(stream, after, limit)) {
    const entry: Entry = { seq, at, data: JSON.parse(data) };
    entries.push(entries.length === 0 && after < trimmed ? { ...entry, gap: true } : entry);
    chars += data.length;
    if (chars > maxChars) break;
  }
  return entries;
}
