import type { Staged } from './records.ts';

/** Small bodies come and go whole, large ones as a stream; whoever takes one must take both. */
export type BlobBody = Uint8Array | ReadableStream<Uint8Array>;

/** A moment in ms, or a way to tell it later. */
export type Expiry = number | (() => number | Promise<number>);

export interface BlobOptions {
  readonly size?: number;
  readonly expiresAt?: Expiry;
}

export interface BlobInfo {
  readonly size: number;
  /** Lowercase hex. */
  readonly sha256: string;
}

export interface ByteRange {
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
}

export interface BlobItem {
  readonly key: string;
  readonly size: number;
  /** When it was written, in ms. */
  readonly at: number;
}

export interface BlobPage {
  readonly items: BlobItem[];
  /** Pass as `after` to go on; absent at the end. */
  readonly next?: string;
}

/** Bytes, written once under a key the caller chose. */
export interface Blobs {
  /**
   * Stores the whole body or nothing: a stream that fails leaves no trace. Resolves when the bytes survive what
   * `limits.durability` says. A second put under the same key replaces the first as a whole.
   * `size` is a promise by the caller (some engines need it ahead); a body of another length is refused.
   * `expiresAt` may be a function: it is asked once the body has arrived, and if it throws nothing is stored.
   */
  put(key: string, body: BlobBody, o?: BlobOptions): Promise<BlobInfo>;
  /** The same, except that it lasts with the write that names it. A body that comes whole is the engine's until then: look, don't touch. */
  stage(key: string, body: BlobBody, o?: BlobOptions): Promise<Staged & BlobInfo>;
  /**
   * `size` is that of the whole blob. A reader that began goes on even if the blob is deleted.
   * The bytes may be shared with other readers: look, don't touch.
   * No byte is given that is not what was stored: each block (`block-hashes.ts`) is checked before any of it is given, and of
   * a range the blocks it touches. What is missing, cut or altered is `store_damaged`, from `get` itself where the first
   * blocks are, else from the stream. A damaged block of a body that comes as a stream is in the way of no range beside it.
   */
  get(key: string, range?: ByteRange): Promise<{ body: BlobBody; size: number } | null>;
  /** Deleting what is not there is fine. */
  delete(key: string): Promise<void>;
  /** In key order. For sweeping orphans by age. */
  list(prefix: string, o?: { after?: string; limit?: number }): Promise<BlobPage>;
}
