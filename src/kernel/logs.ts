import type { Json } from '../base/json.ts';
import type { Staged } from './records.ts';

/** One entry of a stream. */
export interface Entry {
  /** Sequence number, at least 1. Increases along the stream, even after a drop, and may have gaps. */
  readonly seq: number;
  /** Time of the append, in ms since the epoch. */
  readonly at: number;
  readonly data: Json;
  /** Set on an entry if the entries between the cursor and this entry were trimmed. */
  readonly gap?: true;
}

export interface AppendOptions {
  /** Sequence number that the last entry of the stream must have; 0 means that the stream must be empty. */
  readonly expectSeq?: number;
  /** Idempotency key of the entry within its stream. */
  readonly id?: string;
  /** Staged writes that become durable together with this entry. */
  readonly with?: readonly Staged[];
  /** True if the write is part of a deletion. Even a full store accepts it. */
  readonly frees?: boolean;
}

export interface ReadOptions {
  /** Cursor: only entries with a larger sequence number are returned. Default 0, the beginning. */
  readonly after?: number;
  readonly limit?: number;
  /** Approximate bytes after which the page ends. */
  readonly maxBytes?: number;
}

export interface LogPage {
  readonly entries: Entry[];
  /** Set if entries right after the cursor were trimmed. */
  readonly gap?: true;
}

/** Port for append-only streams. */
export interface Logs {
  /**
   * Appends an entry and returns its sequence number. Returns null if the last sequence number of the stream is not
   * `expectSeq`. If the stream has an entry with this `id`, appends nothing and returns that entry's sequence number,
   * whatever `expectSeq` is. The stream remembers an id as long as its entry exists.
   */
  append(stream: string, data: Json, o?: AppendOptions): Promise<number | null>;
  /**
   * Returns a page of entries after `after`, oldest first. With `maxBytes`, the page ends at the entry that reaches
   * about this many bytes, so a reader of large entries holds only a few in memory. An engine that reads in larger
   * units may return more. With `maxBytes`, only an empty page means the end of the stream.
   */
  read(stream: string, o?: ReadOptions): Promise<LogPage>;
  /**
   * Yields the entries after `after` (default 0), then new ones as they arrive, from any process. Each entry comes
   * exactly once and in order. Memory stays bounded even if the subscriber is slow. Ends when the signal aborts.
   */
  subscribe(stream: string, o: { after?: number; signal: AbortSignal }): AsyncIterable<Entry>;
  /**
   * Returns the first and last sequence number and the number of entries. All are 0 if the stream does not
   * exist.
   */
  info(stream: string): Promise<{ first: number; last: number; count: number }>;
  /** Deletes the entries with a sequence number below `before`. The last entry always stays. */
  trim(stream: string, o: { before: number }): Promise<void>;
  /**
   * Deletes the stream. If a stream with this name is created later, its sequence numbers are larger than all earlier
   * ones.
   */
  drop(stream: string): Promise<void>;
}
