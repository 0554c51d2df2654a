import type { Json } from '../base/json.ts';
import type { Staged } from './records.ts';

export interface Entry {
  /** Grows along the stream, also across a drop; need not be gapless. The first is at least 1. */
  readonly seq: number;
  /** When it was appended, in ms. */
  readonly at: number;
  readonly data: Json;
  /** On the first entry after entries that the reader asked for had been trimmed away. */
  readonly gap?: true;
}

export interface AppendOptions {
  /** The sequence that the stream's last entry must have; 0: the stream is empty. */
  readonly expectSeq?: number;
  readonly id?: string;
  /** What comes to last with it. */
  readonly with?: readonly Staged[];
  /** The entry is part of a deletion, so a full store still accepts it. */
  readonly frees?: boolean;
}

export interface ReadOptions {
  readonly after?: number;
  readonly limit?: number;
  readonly maxBytes?: number;
}

export interface LogPage {
  readonly entries: Entry[];
  /** Entries that were asked for had been trimmed away. */
  readonly gap?: true;
}

/** Append-only streams. */
export interface Logs {
  /**
   * The entry's sequence, or null when the stream's last was not `expectSeq`.
   * The same `id` again gives the sequence of the first and appends nothing, whatever `expectSeq` says; an
   * id is remembered as long as its entry.
   */
  append(stream: string, data: Json, o?: AppendOptions): Promise<number | null>;
  /**
   * Oldest first, from behind `after` (default 0, the beginning). With `maxBytes` the page ends with the entry that reaches about so
   * many bytes, or what the engine reads at once where that is more, so that a reader of large entries neither holds them all nor parses them in one go: only an empty page is the end then.
   */
  read(stream: string, o?: ReadOptions): Promise<LogPage>;
  /**
   * Replays from behind `after` (default 0), then goes live: no entry lost, none twice, in order, also those of
   * other processes. Holds a bounded number of entries however slowly it is read. Ends when the signal fires.
   */
  subscribe(stream: string, o: { after?: number; signal: AbortSignal }): AsyncIterable<Entry>;
  /** All zero for a stream that does not exist. */
  info(stream: string): Promise<{ first: number; last: number; count: number }>;
  /** Drops entries with a sequence below `before`, but never the last one. */
  trim(stream: string, o: { before: number }): Promise<void>;
  /** Forgets the stream. Sequences of a later one under the same name are larger still. */
  drop(stream: string): Promise<void>;
}
