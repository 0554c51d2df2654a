import type { Json, JsonObject } from '../base/json.ts';
import type { BlobBody, BlobInfo } from './blobs.ts';
import type { RecordItem } from './records.ts';

/** A record of a store that is still being filled, and of no other: `from` is where it comes from. */
export const ARRIVING_KEY = 'sys/arriving';

/** A body as it is kept; its bytes come from `Blobs.get`. */
export interface ExportedBlob extends BlobInfo {
  readonly key: string;
  /** When it was written, in ms. */
  readonly at: number;
  readonly expiresAt?: number;
}

export interface ExportedRecord extends RecordItem {
  readonly expiresAt?: number;
}

export interface ExportedLog {
  readonly stream: string;
  readonly last: number;
  readonly count: number;
  /** The largest sequence that was trimmed away, 0 for none. */
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

/** Where a store is going, or has gone. */
export interface MoveStatus {
  /** Without what is secret. */
  readonly to: string;
  /** For how many ms nothing may be written from now on; null: for good. */
  readonly ms: number | null;
}

/**
 * Everything that a store holds, with what the ports keep to themselves, and the way into another store. What was exported and
 * imported is the same thing: revisions, sequences, ids of entries, times and expiry. Importing again what is there
 * already changes nothing. What has expired is not exported. Listings are in no order, and miss nothing that stays
 * as it is meanwhile; where there is very much, some of it may come twice.
 */
export interface Moving {
  /** Those whose key begins with the prefix; all by default. */
  exportBlobs(prefix?: string): AsyncIterable<ExportedBlob>;
  exportRecords(): AsyncIterable<ExportedRecord>;
  exportLogs(): AsyncIterable<ExportedLog>;
  /** One of them; null where there is none. */
  exportLog(stream: string): Promise<ExportedLog | null>;
  /** Those behind `after`, oldest first. */
  exportEntries(stream: string, after: number): AsyncIterable<ExportedEntry>;
  exportDocuments(): AsyncIterable<ExportedDocument>;

  /** The largest number that this store has given out, as a revision or a sequence. */
  highestNumber(): Promise<number>;
  /**
   * To be called before anything is imported, and again when all is: from then on this store gives out larger numbers only. The
   * first time it must be empty. Refused where numbers up to `above` can no longer be kept apart from its own.
   */
  prepare(above: number): Promise<void>;
  /** A body that is not what `kept` says is refused, and nothing is stored. */
  importBlob(kept: ExportedBlob, body: BlobBody): Promise<void>;
  importRecord(kept: ExportedRecord): Promise<void>;
  /** Entries behind those that are there, oldest first. */
  importEntries(
    log: Pick<ExportedLog, 'stream' | 'trimmed'>,
    entries: readonly ExportedEntry[],
  ): Promise<void>;

  /** From when this resolves nobody writes, whichever process it is, for so many ms: `store_moving`. */
  freeze(o: { readonly to: string; readonly ms: number }): Promise<void>;
  /** Nobody will write here again: `store_moved`. False, and nothing is changed, where it has not been frozen without a break. */
  leave(o: { readonly to: string }): Promise<boolean>;
  /** Everybody may write again. */
  thaw(): Promise<void>;
  moveStatus(): Promise<MoveStatus | null>;
}

/** What is to be known of a store that is leaving or has left, as `Engine.state` tells it. */
export function movingWarnings(moveStatus: MoveStatus | null): string[] {
  if (moveStatus === null) return [];
  const { to, ms } = moveStatus;
  return [
    ms === null
      ? `The store has moved to ${to}; here it can only be read.`
      : `The store is being moved to ${to}.`,
  ];
}
