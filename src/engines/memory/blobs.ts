import { sha256Hex } from '../../base/hash.ts';
import type { BlobBody, BlobInfo, BlobOptions, BlobPage, Blobs, ByteRange } from '../../kernel/blobs.ts';
import { alignToBlocks, BlockHashes, damagedBodyError, isIntact } from '../../kernel/block-hashes.ts';
import type { Staged } from '../../kernel/records.ts';
import {
  checkExpiry,
  checkKey,
  checkLimit,
  checkPrefix,
  checkRange,
  checkSize,
  readPieces,
  resolveExpiry,
} from '../../kernel/validate-input.ts';
import { Rows, type Store } from './store.ts';

/** Maximum size in bytes of a piece of a stream. */
const CHUNK_BYTES = 64 * 1024 - 1;

type Bytes = Uint8Array<ArrayBuffer>;

interface Row {
  /** Bytes of the blob. They never change, so a running read can continue after this row was replaced. */
  readonly bytes: Bytes;
  readonly hashes: Uint8Array;
  readonly at: number;
  readonly expiresAt: number | undefined;
}

export class MemoryBlobs implements Blobs {
  readonly #rows: Rows<Row>;
  readonly #store: Store;

  constructor(store: Store) {
    this.#rows = new Rows(store.env);
    this.#store = store;
  }

  async put(key: string, body: BlobBody, o: BlobOptions = {}): Promise<BlobInfo> {
    checkKey('a key', key);
    if (typeof o.expiresAt === 'number') checkExpiry(o.expiresAt);
    const bytes = await this.#readAll(body, o.size);
    const sha256 = await sha256Hex(bytes);
    const expiresAt = await resolveExpiry(o.expiresAt);
    await this.#store.hazard.pause();
    const hashes = new BlockHashes().update(bytes).digest();
    this.#rows.set(key, { bytes, hashes, at: this.#store.env.now(), expiresAt });
    await this.#store.hazard.pause();
    return { size: bytes.length, sha256 };
  }

  async stage(key: string, body: BlobBody, o?: BlobOptions): Promise<Staged & BlobInfo> {
    return { key, ...(await this.put(key, body, o)) };
  }

  async get(key: string, range?: ByteRange) {
    checkKey('a key', key);
    await this.#store.hazard.pause();
    const row = this.#rows.get(key);
    if (!row) return null;
    const size = row.bytes.length;
    if (range) checkRange(range, size);
    const { start, end } = range ?? { start: 0, end: size };
    this.#check(key, row, { start, end: Math.min(end, start + 1) });
    const inOnePiece = end - start <= CHUNK_BYTES && this.#store.hazard.upTo(2) === 1;
    if (!inOnePiece) return { body: this.#stream(key, row, start, end), size };
    this.#check(key, row, { start, end });
    return { body: row.bytes.slice(start, end), size };
  }

  async delete(key: string): Promise<void> {
    checkKey('a key', key);
    await this.#store.hazard.pause();
    this.#rows.delete(key);
  }

  async list(prefix: string, o: { after?: string; limit?: number } = {}): Promise<BlobPage> {
    checkPrefix('the prefix of a listing', prefix);
    const limit = checkLimit(o.limit);
    await this.#store.hazard.pause();
    return this.#rows.page(prefix, { after: o.after, limit }, (key, { bytes, at }) => {
      return { key, size: bytes.length, at };
    });
  }

  get usage(): { count: number; bytes: number } {
    const rows = this.#rows.all();
    return { count: rows.length, bytes: sum(rows) };
  }

  sweep(): { blobs: number; bytes: number } {
    const expired = this.#rows.sweep();
    return { blobs: expired.length, bytes: sum(expired) };
  }

  async #readAll(body: BlobBody, size: number | undefined): Promise<Bytes> {
    const limits = { size, max: this.#store.limits.blobBytes };
    if (body instanceof Uint8Array) {
      checkSize(body, limits);
      return new Uint8Array(body);
    }
    const pieces: Uint8Array[] = [];
    for await (const piece of readPieces(body, limits)) pieces.push(new Uint8Array(piece));
    return new Uint8Array(Buffer.concat(pieces));
  }

  /** Flips one bit of a stored body, as a disk error would do. */
  damage(key: string, offset: number): void {
    const row = this.#rows.get(key)!;
    const bytes = row.bytes.slice();
    bytes[offset]! ^= 1;
    this.#rows.set(key, { ...row, bytes });
  }

  #check(key: string, { bytes, hashes }: Row, range: ByteRange): void {
    const { start, end } = alignToBlocks(range, bytes.length);
    if (!isIntact(bytes.subarray(start, end), hashes, start)) throw damagedBodyError(key, 'altered');
  }

  /** Streams the body on demand in pieces of random length. */
  #stream(key: string, row: Row, start: number, end: number): ReadableStream<Uint8Array> {
    let offset = start;
    const hazard = this.#store.hazard;
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          await hazard.pause();
          if (offset >= end) return controller.close();
          const next = Math.min(end, offset + hazard.upTo(CHUNK_BYTES));
          this.#check(key, row, { start: offset, end: next });
          controller.enqueue(row.bytes.slice(offset, next));
          offset = next;
        },
      },
      { highWaterMark: 0 },
    );
  }
}

function sum(rows: readonly Row[]): number {
  return rows.reduce((bytes, row) => bytes + row.bytes.length, 0);
}
