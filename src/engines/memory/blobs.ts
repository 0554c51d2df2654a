import type { Env } from '../../base/env.ts';
import { RelayError } from '../../base/errors.ts';
import { sha256Hex } from '../../base/hash.ts';
import {
  checkExpiry,
  checkKey,
  checkLimit,
  checkRange,
  checkText,
  settleExpiry,
} from '../../kernel/admission.ts';
import type { BlobBody, BlobInfo, BlobItem, BlobPage, Blobs, Expiry } from '../../kernel/blobs.ts';
import type { Hazard } from './hazard.ts';
import { keysBehind } from './records.ts';

/** The largest piece a reader is given at once. */
const CHUNK_BYTES = 64 * 1024 - 1;

type Bytes = Uint8Array<ArrayBuffer>;

interface Row {
  /** Never changed once stored, so readers that began share it with whatever replaces it. */
  readonly bytes: Bytes;
  readonly at: number;
  readonly expiresAt: number | undefined;
}

export class MemoryBlobs implements Blobs {
  readonly #rows = new Map<string, Row>();
  readonly #env: Env;
  readonly #hazard: Hazard;
  readonly #maxBytes: number;

  constructor(env: Env, hazard: Hazard, maxBytes: number) {
    this.#env = env;
    this.#hazard = hazard;
    this.#maxBytes = maxBytes;
  }

  async put(key: string, body: BlobBody, o: { size?: number; expiresAt?: Expiry } = {}): Promise<BlobInfo> {
    checkKey('a key', key);
    if (typeof o.expiresAt === 'number') checkExpiry(o.expiresAt);
    const bytes = body instanceof Uint8Array ? this.#taken(body, o.size) : await this.#drained(body, o.size);
    const sha256 = await sha256Hex(bytes);
    const expiresAt = await settleExpiry(o.expiresAt);
    await this.#hazard.pause();
    this.#rows.set(key, { bytes, at: this.#env.now(), expiresAt });
    await this.#hazard.pause();
    return { size: bytes.length, sha256 };
  }

  async get(key: string, range?: { start: number; end: number }) {
    checkKey('a key', key);
    await this.#hazard.pause();
    const row = this.#live(key);
    if (!row) return null;
    const size = row.bytes.length;
    if (range) checkRange(range, size);
    const part = range ? row.bytes.subarray(range.start, range.end) : row.bytes;
    const whole = part.length <= CHUNK_BYTES && this.#hazard.upTo(2) === 1;
    return { body: whole ? part.slice() : this.#stream(part), size };
  }

  async delete(key: string): Promise<void> {
    checkKey('a key', key);
    await this.#hazard.pause();
    this.#rows.delete(key);
  }

  async list(prefix: string, o: { after?: string; limit?: number } = {}): Promise<BlobPage> {
    checkText('the prefix of a listing', prefix);
    const limit = checkLimit(o.limit);
    await this.#hazard.pause();
    const keys = keysBehind(this.#rows.keys(), prefix, o.after).filter((key) => this.#live(key));
    const items = keys.slice(0, limit).map((key): BlobItem => {
      const { bytes, at } = this.#rows.get(key)!;
      return { key, size: bytes.length, at };
    });
    return keys.length > limit ? { items, next: items.at(-1)!.key } : { items };
  }

  get usage(): { count: number; bytes: number } {
    return { count: this.#rows.size, bytes: sum(this.#rows.values()) };
  }

  sweep(): { blobs: number; bytes: number } {
    const expired = [...this.#rows.keys()].filter((key) => !this.#live(key));
    const bytes = sum(expired.map((key) => this.#rows.get(key)!));
    for (const key of expired) this.#rows.delete(key);
    return { blobs: expired.length, bytes };
  }

  #live(key: string): Row | undefined {
    const row = this.#rows.get(key);
    return row && (row.expiresAt === undefined || row.expiresAt > this.#env.now()) ? row : undefined;
  }

  #taken(body: Uint8Array, size: number | undefined): Bytes {
    this.#checkSize(Math.max(body.length, size ?? 0));
    if (size !== undefined && size !== body.length) throw wrongSize(size, body.length);
    return new Uint8Array(body);
  }

  async #drained(body: ReadableStream<Uint8Array>, size: number | undefined): Promise<Bytes> {
    const chunks: Uint8Array[] = [];
    let length = 0;
    const reader = body.getReader();
    try {
      this.#checkSize(size ?? 0);
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        length += value.length;
        this.#checkSize(length);
        if (size !== undefined && length > size) throw wrongSize(size, length);
        chunks.push(value.slice());
      }
    } catch (error) {
      // Whoever produces the body learns that it is no longer wanted; the reason that counts is the first.
      await reader.cancel(error).catch(() => {});
      throw error;
    }
    if (size !== undefined && length !== size) throw wrongSize(size, length);
    return joined(chunks, length);
  }

  #checkSize(size: number): void {
    if (size > this.#maxBytes) throw new RelayError('too_large', { what: 'a blob', limit: this.#maxBytes });
  }

  /** In pieces of any length, one at a time as they are asked for. */
  #stream(bytes: Bytes): ReadableStream<Uint8Array> {
    let offset = 0;
    const hazard = this.#hazard;
    return new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          await hazard.pause();
          if (offset >= bytes.length) return controller.close();
          const piece = bytes.slice(offset, offset + hazard.upTo(CHUNK_BYTES));
          offset += piece.length;
          controller.enqueue(piece);
        },
      },
      { highWaterMark: 0 },
    );
  }
}

function joined(chunks: readonly Uint8Array[], length: number): Bytes {
  const bytes = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return bytes;
}

function sum(rows: Iterable<Row>): number {
  let bytes = 0;
  for (const row of rows) bytes += row.bytes.length;
  return bytes;
}

function wrongSize(promised: number, found: number): RelayError {
  return new RelayError('bad_request', {
    what: `the body was announced with ${promised} bytes but has ${found > promised ? 'more' : found}`,
  });
}
