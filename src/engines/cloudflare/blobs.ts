import { concatBytes } from '../../base/byte-streams.ts';
import type { BlobBody, BlobInfo, BlobOptions, BlobPage, Blobs, ByteRange } from '../../kernel/blobs.ts';
import { damagedBodyError, isIntact } from '../../kernel/block-hashes.ts';
import type { Staged } from '../../kernel/records.ts';
import {
  checkExpiry,
  checkKey,
  checkRange,
  checkSize,
  readPieces,
  resolveExpiry,
} from '../../kernel/validate-input.ts';
import { BodyHashes, crc32 } from '../body-hashes.ts';
import { listBlobs } from '../sqlite/blob-listing.ts';
import { type RowStore, StagedWrite } from '../sqlite/commit-queue.ts';

interface Row {
  readonly size: number;
  readonly blocks: ArrayBuffer;
  readonly body: ArrayBuffer;
}

/** Blobs in rows of a Durable Object. `BucketBlobs` puts larger blobs into R2. */
export class RowBlobs implements Blobs {
  readonly #store: RowStore;

  constructor(store: RowStore) {
    this.#store = store;
  }

  async put(key: string, body: BlobBody, o: BlobOptions = {}): Promise<BlobInfo> {
    // Copy the bytes, because the caller may change its buffer after the first await.
    const { write, info } = await this.#receive(key, body instanceof Uint8Array ? body.slice() : body, o);
    await this.#store.queue.run(write);
    return info;
  }

  async stage(key: string, body: BlobBody, o: BlobOptions = {}): Promise<Staged & BlobInfo> {
    const { write, info } = await this.#receive(key, body, o);
    return Object.assign(new StagedWrite(key, write, info.size), info);
  }

  async get(key: string, range?: ByteRange): Promise<{ body: BlobBody; size: number } | null> {
    checkKey('a key', key);
    const sql = 'SELECT size, blocks, body FROM blobs WHERE key = ? AND (expires IS NULL OR expires > ?)';
    const row = this.#store.db.sql<Row>(sql).get(key, this.#store.env.now());
    if (!row) return null;
    const { size } = row;
    const body = new Uint8Array(row.body);
    if (body.length !== size || !isIntact(body, new Uint8Array(row.blocks), 0, crc32))
      throw damagedBodyError(`the body of ${key}`, 'altered');
    if (range) checkRange(range, size);
    return { body: range ? body.subarray(range.start, range.end) : body, size };
  }

  async delete(key: string): Promise<void> {
    checkKey('a key', key);
    await this.#store.queue.free(() => this.#store.db.sql('DELETE FROM blobs WHERE key = ?').run(key));
  }

  list(prefix: string, o?: { after?: string; limit?: number }): Promise<BlobPage> {
    return listBlobs(this.#store, prefix, o);
  }

  async #receive(
    key: string,
    body: BlobBody,
    o: BlobOptions,
  ): Promise<{ write: () => void; info: BlobInfo }> {
    checkKey('a key', key);
    if (typeof o.expiresAt === 'number') checkExpiry(o.expiresAt);
    const { db, env, limits } = this.#store;
    const limit = { size: o.size, max: limits.blobBytes };
    checkSize(body, limit);
    const bytes =
      body instanceof Uint8Array ? body : concatBytes(await Array.fromAsync(readPieces(body, limit)));
    const expires = (await resolveExpiry(o.expiresAt)) ?? null;
    const { size, sha256, blocks } = new BodyHashes().update(bytes).digest();
    const sql = `INSERT OR REPLACE INTO blobs (key, size, sha256, blocks, at, expires, body)
      VALUES (?, ?, ?, ?, ?, ?, ?)`;
    const write = () => void db.sql(sql).run(key, size, sha256, blocks, env.now(), expires, bytes);
    return { write, info: { size, sha256 } };
  }
}
