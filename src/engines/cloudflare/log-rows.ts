import type { SqlStorage } from '@cloudflare/workers-types';
import type { Counter } from './record-rows.ts';

export type EntryRow = { readonly seq: number; readonly at: number; readonly data: string };

export interface EntryPage {
  readonly entries: EntryRow[];
  /** True if the log no longer has the entries right after the cursor, because they were trimmed. */
  readonly gap: boolean;
  /** True if the page ended early because of its size limit. */
  readonly more: boolean;
}

/**
 * Default maximum size of a page, in characters. It is limited because a page is sent to the Worker in one message.
 */
const PAGE_CHARS = 4 * 1024 * 1024;

/** Logs in one Durable Object. */
export class LogRows {
  readonly #sql: SqlStorage;
  readonly #counter: Counter;

  constructor(sql: SqlStorage, counter: Counter) {
    this.#sql = sql;
    this.#counter = counter;
    sql.exec(
      'CREATE TABLE IF NOT EXISTS streams (name TEXT PRIMARY KEY, trimmed INTEGER NOT NULL) WITHOUT ROWID',
    );
    sql.exec(`CREATE TABLE IF NOT EXISTS entries (
      stream TEXT NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, id TEXT, data TEXT NOT NULL,
      PRIMARY KEY (stream, seq)
    ) WITHOUT ROWID`);
    sql.exec('CREATE UNIQUE INDEX IF NOT EXISTS entries_id ON entries (stream, id) WHERE id IS NOT NULL');
  }

  /**
   * Appends an entry. Returns null if `expectSeq` does not match. If an entry with this id exists, returns its
   * sequence number and `added: false`.
   */
  append(
    stream: string,
    data: string,
    { expectSeq, id, now }: { expectSeq?: number; id?: string; now: number },
  ): { seq: number; added: boolean } | null {
    if (id !== undefined) {
      const sql = 'SELECT seq FROM entries WHERE stream = ? AND id = ?';
      const [first] = this.#sql.exec<{ seq: number }>(sql, stream, id).toArray();
      if (first) return { seq: first.seq, added: false };
    }
    if (expectSeq !== undefined && expectSeq !== this.#last(stream)) return null;
    const seq = this.#counter.next();
    const sql = 'INSERT INTO entries (stream, seq, at, id, data) VALUES (?, ?, ?, ?, ?)';
    this.#sql.exec(sql, stream, seq, now, id ?? null, data);
    return { seq, added: true };
  }

  /** Reads a page. The first entry is included even if it exceeds the size limit. */
  read(stream: string, after: number, limit: number, most = PAGE_CHARS): EntryPage {
    const sql = 'SELECT seq, at, data FROM entries WHERE stream = ? AND seq > ? ORDER BY seq LIMIT ?';
    const entries: EntryRow[] = [];
    let chars = 0;
    let more = false;
    for (const row of this.#sql.exec<EntryRow>(sql, stream, after, limit)) {
      more = chars > 0 && chars + row.data.length > most;
      if (more) break;
      entries.push(row);
      chars += row.data.length;
    }
    return { entries, more, gap: entries.length > 0 && after < this.#trimmed(stream) };
  }

  info(stream: string): { first: number; last: number; count: number } {
    const sql = 'SELECT min(seq) AS first, max(seq) AS last, count(*) AS count FROM entries WHERE stream = ?';
    const { first, last, count } = this.#sql.exec<{ [name: string]: number | null }>(sql, stream).one();
    return { first: first ?? 0, last: last ?? 0, count: count ?? 0 };
  }

  trim(stream: string, before: number): void {
    const below = Math.min(before, this.#last(stream));
    const sql = 'SELECT max(seq) AS seq FROM entries WHERE stream = ? AND seq < ?';
    const { seq } = this.#sql.exec<{ seq: number | null }>(sql, stream, below).one();
    if (seq === null) return;
    this.#sql.exec('DELETE FROM entries WHERE stream = ? AND seq <= ?', stream, seq);
    this.#sql.exec('INSERT OR REPLACE INTO streams (name, trimmed) VALUES (?, ?)', stream, seq);
  }

  drop(stream: string): void {
    this.#sql.exec('DELETE FROM entries WHERE stream = ?', stream);
    this.#sql.exec('DELETE FROM streams WHERE name = ?', stream);
  }

  streams(prefix: string): string[] {
    const names: string[] = [];
    // Jump from stream to stream instead of scanning all entries, because a stream may have many.
    const sql = 'SELECT min(stream) AS name FROM entries WHERE stream > ?';
    for (let last = prefix; ; ) {
      const { name } = this.#sql.exec<{ name: string | null }>(sql, last).one();
      if (name === null || !name.startsWith(prefix)) return names;
      names.push(name);
      last = name;
    }
  }

  count(): number {
    return this.#sql.exec<{ n: number }>('SELECT count(*) AS n FROM entries').one().n;
  }

  #last(stream: string): number {
    const sql = 'SELECT max(seq) AS seq FROM entries WHERE stream = ?';
    return this.#sql.exec<{ seq: number | null }>(sql, stream).one().seq ?? 0;
  }

  #trimmed(stream: string): number {
    const sql = 'SELECT trimmed FROM streams WHERE name = ?';
    return this.#sql.exec<{ trimmed: number }>(sql, stream).toArray()[0]?.trimmed ?? 0;
  }
}
