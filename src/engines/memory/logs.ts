import type { Json } from '../../base/json.ts';
import { Followers } from '../../kernel/engine.ts';
import type { AppendOptions, Entry, LogPage, Logs, ReadOptions } from '../../kernel/logs.ts';
import { checkKey, checkLimit, encodeJson } from '../../kernel/validate-input.ts';
import type { Store } from './store.ts';

/** Maximum number of entries that a subscriber reads in one batch. */
const BATCH = 16;

interface Row {
  readonly seq: number;
  readonly at: number;
  readonly json: string;
  readonly id: string | undefined;
}

interface Stream {
  rows: Row[];
  /** Highest sequence number ever used. It does not go back when the log is dropped. */
  last: number;
  /** Highest trimmed sequence number. It goes back to 0 when the log is dropped. */
  trimmed: number;
}

export class MemoryLogs implements Logs {
  readonly #streams = new Map<string, Stream>();
  readonly #store: Store;
  readonly #followers = new Followers();

  constructor(store: Store) {
    this.#store = store;
  }

  async append(stream: string, data: Json, o: AppendOptions = {}): Promise<number | null> {
    checkKey("a stream's name", stream);
    if (o.id !== undefined) checkKey("an entry's id", o.id);
    const json = encodeJson('a log entry', data, this.#store.limits.entryBytes);
    await this.#store.hazard.pause();
    const log = this.#streams.get(stream) ?? { rows: [], last: 0, trimmed: 0 };
    this.#streams.set(stream, log);
    const first = o.id === undefined ? undefined : log.rows.find((row) => row.id === o.id);
    if (first) return first.seq;
    if (o.expectSeq !== undefined && o.expectSeq !== (log.rows.at(-1)?.seq ?? 0)) return null;
    const seq = this.#store.hazard.after(log.last);
    log.last = seq;
    log.rows.push({ seq, at: this.#store.env.now(), json, id: o.id });
    this.#followers.wake(stream);
    await this.#store.hazard.pause();
    return seq;
  }

  async read(stream: string, o: ReadOptions = {}): Promise<LogPage> {
    checkKey("a stream's name", stream);
    const limit = checkLimit(o.limit);
    await this.#store.hazard.pause();
    const entries = this.#page(stream, o.after ?? 0, limit, o.maxBytes);
    return entries[0]?.gap ? { entries, gap: true } : { entries };
  }

  subscribe(stream: string, o: { after?: number; signal: AbortSignal }): AsyncIterable<Entry> {
    checkKey("a stream's name", stream);
    return this.#followers.follow(stream, o.after ?? 0, o.signal, async (after) => {
      await this.#store.hazard.pause();
      return this.#page(stream, after, BATCH);
    });
  }

  async info(stream: string): Promise<{ first: number; last: number; count: number }> {
    checkKey("a stream's name", stream);
    await this.#store.hazard.pause();
    const rows = this.#streams.get(stream)?.rows ?? [];
    return { first: rows[0]?.seq ?? 0, last: rows.at(-1)?.seq ?? 0, count: rows.length };
  }

  async trim(stream: string, o: { before: number }): Promise<void> {
    checkKey("a stream's name", stream);
    await this.#store.hazard.pause();
    const log = this.#streams.get(stream);
    if (!log) return;
    const trimmed = log.rows.slice(0, -1).filter((row) => row.seq < o.before);
    log.rows.splice(0, trimmed.length);
    log.trimmed = trimmed.at(-1)?.seq ?? log.trimmed;
  }

  async drop(stream: string): Promise<void> {
    checkKey("a stream's name", stream);
    await this.#store.hazard.pause();
    const log = this.#streams.get(stream);
    if (!log) return;
    log.rows = [];
    log.trimmed = 0;
  }

  get count(): number {
    let entries = 0;
    for (const log of this.#streams.values()) entries += log.rows.length;
    return entries;
  }

  close(): void {
    this.#followers.end();
  }

  #page(stream: string, after: number, limit: number, maxBytes = Number.POSITIVE_INFINITY): Entry[] {
    const log = this.#streams.get(stream);
    if (!log) return [];
    const start = log.rows.findLastIndex((row) => row.seq <= after) + 1;
    let bytes = 0;
    const large = log.rows.slice(start, start + limit).findIndex(({ json }) => {
      bytes += json.length;
      return bytes >= maxBytes;
    });
    const end = large === -1 ? start + limit : start + large + 1;
    return log.rows.slice(start, end).map((row, i): Entry => {
      const entry = { seq: row.seq, at: row.at, data: JSON.parse(row.json) };
      return i === 0 && after < log.trimmed ? { ...entry, gap: true } : entry;
    });
  }
}
