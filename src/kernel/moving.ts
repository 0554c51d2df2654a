import type { Json, JsonObject } from '../base/json.ts';
import type { BlobBody, BlobInfo } from './blobs.ts';
import type { RecordItem } from './records.ts';

/**
 * Key of the record that marks a store as incomplete while data is copied into it. The record's `from` names
 * the source store.
 */
export const ARRIVING_KEY = 'sys/arriving';

/** Metadata of a stored blob. `Blobs.get` returns its bytes. */
export interface ExportedBlob extends BlobInfo {
  readonly key: string;
  /** Time of the write, in ms since the epoch. */
  readonly at: number;
  readonly expiresAt?: number;
}

export interface ExportedRecord extends RecordItem {
  readonly expiresAt?: number;
}

/** A stream without its entries. */
export interface ExportedLog {
  readonly stream: string;
  readonly last: number;
  readonly count: number;
  /** Largest sequence number that was trimmed; 0 if none was. */
  readonly trimmed: number;
}

export interface ExportedEntry {
  readonly seq: number;
  readonly at: number;
  readonly data: Json;
  readonly id?: string;
}

export interface ExportedDocument {
  readonly key: string;
  readonly text: string;
  readonly fields: JsonObject;
}

/** A move of the store to another store, in progress or finished. */
export interface MoveStatus {
  /** Location of the destination store, without secrets. */
  readonly to: string;
  /** How long writes are still rejected, in ms. Null after the move: then they are rejected forever. */
  readonly ms: number | null;
}

/**
 * Port that copies a whole store into another one. Export and import keep revisions, sequence numbers, entry ids,
 * times and expiry. Importing an item twice changes nothing. Expired data is not exported. An export has no defined
 * order and contains everything that does not change while it runs. In a very large store an item may come twice.
 */
export interface Moving {
  /** Yields the metadata of all blobs, or of the blobs whose keys start with the prefix. */
  exportBlobs(prefix?: string): AsyncIterable<ExportedBlob>;
  /** Yields all records. */
  exportRecords(): AsyncIterable<ExportedRecord>;
  /** Yields all streams, without their entries. */
  exportLogs(): AsyncIterable<ExportedLog>;
  /** Returns one stream, without its entries; null if it does not exist. */
  exportLog(stream: string): Promise<ExportedLog | null>;
  /** Yields the entries of a stream whose sequence number is larger than `after`, oldest first. */
  exportEntries(stream: string, after: number): AsyncIterable<ExportedEntry>;
  /** Yields all documents of the search index. */
  exportDocuments(): AsyncIterable<ExportedDocument>;

  /** Returns the largest revision or sequence number that this store has used. */
  highestNumber(): Promise<number>;
  /**
   * Makes this store use only revisions and sequence numbers larger than `above`. Call it on an empty store before the
   * first import, and again after the last import. Throws `conflict` if the store's own numbers could collide with
   * numbers up to `above`.
   */
  prepare(above: number): Promise<void>;
  /**
   * Stores a blob with its metadata. Throws and stores nothing if the body does not match the size and the SHA-256.
   */
  importBlob(blob: ExportedBlob, body: BlobBody): Promise<void>;
  /** Writes a record with its revision and expiry. Replaces a record with the same key. */
  importRecord(record: ExportedRecord): Promise<void>;
  /**
   * Appends entries, oldest first, with their sequence numbers. Skips entries that the stream already has.
   */
  importEntries(
    log: Pick<ExportedLog, 'stream' | 'trimmed'>,
    entries: readonly ExportedEntry[],
  ): Promise<void>;

  /**
   * Makes all processes reject writes with `store_moving` for `ms` milliseconds. After the promise resolves, no write
   * succeeds until that time is over. Another call starts the time again.
   */
  freeze(o: { readonly to: string; readonly ms: number }): Promise<void>;
  /**
   * Rejects all writes from now on with `store_moved` and returns true. Returns false and changes nothing if the
   * store is not frozen for a move to `to`.
   */
  leave(o: { readonly to: string }): Promise<boolean>;
  /** Allows writes again. */
  thaw(): Promise<void>;
  /** Returns the move in progress or the finished move. Returns null if writes are allowed. */
  moveStatus(): Promise<MoveStatus | null>;
}

/** Returns the warnings that `Engine.state` reports for a store that is moving or has moved. */
export function movingWarnings(moveStatus: MoveStatus | null): string[] {
  if (moveStatus === null) return [];
  const { to, ms } = moveStatus;
  return [
    ms === null
      ? `The store has moved to ${to}. This copy is read-only.`
      : `The store is being moved to ${to}.`,
  ];
}
