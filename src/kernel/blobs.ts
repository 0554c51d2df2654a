import type { Staged } from './records.ts';

/**
 * Bytes of a blob: usually an array if the blob is small, otherwise a stream. Code that accepts a body must accept
 * both.
 */
export type BlobBody = Uint8Array | ReadableStream<Uint8Array>;

/**
 * Expiry time in ms since the epoch, or a function that returns it. The function is called after the body has
 * arrived.
 */
export type Expiry = number | (() => number | Promise<number>);

export interface BlobOptions {
  /**
   * Length of the body in bytes. Some engines need it before the first byte. A body with another length is rejected.
   */
  readonly size?: number;
  readonly expiresAt?: Expiry;
}

export interface BlobInfo {
  readonly size: number;
  /** SHA-256 of the body, in lowercase hex. */
  readonly sha256: string;
}

/** A range of bytes from `start` to `end`. */
export interface ByteRange {
  readonly start: number;
  /** End offset, exclusive. */
  readonly end: number;
}

export interface BlobItem {
  readonly key: string;
  readonly size: number;
  /** Time of the write, in ms since the epoch. */
  readonly at: number;
}

export interface BlobPage {
  readonly items: BlobItem[];
  /** Pass as `after` to read the next page. Absent on the last page. */
  readonly next?: string;
}

/** Port for bytes that are stored under a key chosen by the caller. */
export interface Blobs {
  /**
   * Stores the whole body or nothing: if the stream fails, nothing is stored. Resolves when the bytes are as
   * durable as `limits.durability` promises. A second put under the same key replaces the whole body. If
   * `expiresAt` is a function, the engine calls it after the body has arrived. If the function throws,
   * nothing is stored.
   */
  put(key: string, body: BlobBody, o?: BlobOptions): Promise<BlobInfo>;
  /**
   * Like `put`, but the blob becomes durable together with the write that lists it in `with` (see `Staged`).
   * The engine may keep a reference to a `Uint8Array` body until that write, so the caller must not modify
   * the array.
   */
  stage(key: string, body: BlobBody, o?: BlobOptions): Promise<Staged & BlobInfo>;
  /**
   * Returns the body, or the requested range of it, and the size of the whole blob. Returns null if the key
   * does not exist or has expired. A read that has started continues even if the blob is deleted. The bytes
   * may be shared with other readers, so the caller must not modify them. The engine verifies each block
   * (`block-hashes.ts`) before it returns any byte of the block. For a range, it verifies the blocks that the
   * range touches. Missing, truncated or altered bytes cause `store_damaged`: thrown by `get` if the first
   * blocks are damaged, otherwise by the stream. If the body is a stream, a damaged block does not affect
   * ranges outside it.
   */
  get(key: string, range?: ByteRange): Promise<{ body: BlobBody; size: number } | null>;
  /** Deletes the blob. Does nothing if the key does not exist. */
  delete(key: string): Promise<void>;
  /** Lists the blobs whose keys start with the prefix, in key order. The sweep finds old orphans this way. */
  list(prefix: string, o?: { after?: string; limit?: number }): Promise<BlobPage>;
}
