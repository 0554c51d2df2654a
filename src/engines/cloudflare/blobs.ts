import type { R2MultipartUpload, R2UploadedPart } from '@cloudflare/workers-types';
import { concatBytes } from '../../base/byte-streams.ts';
import { uploadTooSlow } from '../../base/errors.ts';
import { toHex } from '../../base/ids.ts';
import type {
  BlobBody,
  BlobInfo,
  BlobItem,
  BlobOptions,
  BlobPage,
  Blobs,
  ByteRange,
} from '../../kernel/blobs.ts';
import {
  alignToBlocks,
  BlockHashes,
  type Crc32,
  checkedBody,
  damagedBodyError,
  isIntact,
} from '../../kernel/block-hashes.ts';
import {
  checkExpiry,
  checkKey,
  checkLimit,
  checkPrefix,
  checkRange,
  checkSize,
  compareKeys,
  readPieces,
  resolveExpiry,
} from '../../kernel/validate-input.ts';
import type { BodyRow } from './body-rows.ts';
import { objectOf } from './objects.ts';
import type { StagedRow, Store } from './store.ts';

/**
 * Maximum size in bytes of a blob that is stored in a row. Compared with an R2 object, a row saves a call and the fee
 * of an R2 operation. The platform allows rows of 2 MB.
 */
const ROW_BYTES = 512 * 1024;
/** Size in bytes of one part of a multipart upload to R2: the minimum that R2 allows. */
const PART_BYTES = 5 * 1024 * 1024;

/** Stores small blobs in rows of Durable Objects and large blobs in an R2 bucket. */
export class CloudflareBlobs implements Blobs {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  async put(key: string, body: BlobBody, o: BlobOptions = {}): Promise<BlobInfo> {
    // Copy the bytes, because the caller may change its buffer after the first await.
    const row = await this.#receive(key, body instanceof Uint8Array ? new Uint8Array(body) : body, o);
    await this.#storeRow(row);
    return infoOf(row);
  }

  async stage(key: string, body: BlobBody, o: BlobOptions = {}): Promise<StagedRow & BlobInfo> {
    const row = await this.#receive(key, body, o);
    if (row.bytes !== null) return { key, body: row, ...infoOf(row) };
    await this.#storeRow(row);
    return { key, ...infoOf(row) };
  }

  async get(key: string, range?: ByteRange): Promise<{ body: BlobBody; size: number } | null> {
    checkKey('a key', key);
    const row = await this.#store.calls.ask(objectOf(key), 'getBody', key, this.#store.env.now());
    if (!row) return null;
    if (row.bytes !== null) {
      const whole = this.#checked(row, row.bytes);
      if (range) checkRange(range, whole.length);
      return { body: range ? whole.subarray(range.start, range.end) : whole, size: whole.length };
    }
    const { size, name } = row;
    if (range) checkRange(range, size);
    const { start, end } = range ?? { start: 0, end: size };
    const hashes = new Uint8Array(row.blocks);
    if (start === end) return { body: new Uint8Array(), size };
    const blocks = alignToBlocks({ start, end }, size);
    const object = await this.#store.bucket.get(name!, {
      range: { offset: blocks.start, length: blocks.end - blocks.start },
    });
    if (!object) throw damagedBodyError(`the body of ${key}`, 'missing');
    const body = object.body as unknown as ReadableStream<Uint8Array>;
    return {
      body: await checkedBody(body, { start, end }, { key, size, hashes, crc32: this.#store.crc32 }),
      size,
    };
  }

  async delete(key: string): Promise<void> {
    checkKey('a key', key);
    await this.#store.calls.ask(objectOf(key), 'deleteBody', key, this.#store.env.now());
  }

  async list(prefix: string, o: { after?: string; limit?: number } = {}): Promise<BlobPage> {
    checkPrefix('the prefix of a listing', prefix);
    const limit = checkLimit(o.limit);
    const now = this.#store.env.now();
    const found: BlobItem[] = [];
    const objects = prefix.includes('/') ? [this.#store.object(prefix)] : this.#store.objects();
    for await (const object of objects) {
      found.push(...(await object.listBodies(prefix, o.after, limit + 1, now)));
    }
    const items = found.sort((a, b) => compareKeys(a.key, b.key)).slice(0, limit);
    return found.length > limit ? { items, next: items.at(-1)!.key } : { items };
  }

  #checked({ key, size, blocks }: BodyRow, bytes: ArrayBuffer): Uint8Array {
    const whole = new Uint8Array(bytes);
    if (whole.length !== size || !isIntact(whole, new Uint8Array(blocks), 0, this.#store.crc32))
      throw damagedBodyError(`the body of ${key}`, 'altered');
    return whole;
  }

  async #storeRow(row: BodyRow): Promise<void> {
    if (await this.#store.calls.ask(objectOf(row.key), 'putBody', row)) return;
    throw uploadTooSlow();
  }

  /**
   * Creates the row of a blob without storing it. The row contains the bytes of a small blob. The bytes of a large
   * blob are uploaded to the bucket.
   */
  async #receive(key: string, body: BlobBody, o: BlobOptions): Promise<BodyRow> {
    checkKey('a key', key);
    if (typeof o.expiresAt === 'number') checkExpiry(o.expiresAt);
    const limits = { size: o.size, max: this.#store.limits.blobBytes };
    if (body instanceof Uint8Array) checkSize(body, limits);
    const upload =
      body instanceof Uint8Array && body.length <= ROW_BYTES ? null : new Upload(this.#store, key);
    try {
      if (upload) for await (const piece of readPieces(body, limits)) await upload.write(piece);
      const expires = (await resolveExpiry(o.expiresAt)) ?? null;
      const stored = await (upload?.finish() ?? toRowBody(body as Uint8Array, this.#store.crc32));
      return { key, at: this.#store.env.now(), expires, ...stored };
    } catch (error) {
      await upload?.abandon();
      throw error;
    }
  }
}

type StoredBody = Pick<BodyRow, 'size' | 'sha256' | 'blocks' | 'bytes' | 'name'>;

async function toRowBody(body: Uint8Array, crc32: Crc32 | undefined): Promise<StoredBody> {
  // RPC sends the whole underlying buffer. If the buffer is larger than the body, copy the body into a buffer of its
  // own. Do not use `slice`, because on a Node Buffer it copies nothing.
  const isAlone = body.length === body.buffer.byteLength;
  const own = (isAlone ? body : new Uint8Array(body)) as Uint8Array<ArrayBuffer>;
  const sha256 = toHex(new Uint8Array(await crypto.subtle.digest('SHA-256', own)));
  const blocks = new BlockHashes(crc32).update(own).digest().buffer as ArrayBuffer;
  return { size: own.length, sha256, blocks, bytes: own.buffer, name: null };
}

const infoOf = ({ size, sha256 }: BodyRow): BlobInfo => ({ size, sha256 });

/**
 * The upload of one blob. It collects the bytes for a row, and switches to a multipart upload if they do not fit into
 * a row.
 */
class Upload {
  readonly #store: Store;
  readonly #key: string;
  readonly #blocks: BlockHashes;
  readonly #digest = new crypto.DigestStream('SHA-256');
  readonly #hashing = this.#digest.getWriter();
  #size = 0;
  /** Bytes that are not in the bucket yet. */
  #unsent: Uint8Array[] = [];
  #unsentBytes = 0;
  #name: string | null = null;
  #upload: R2MultipartUpload | null = null;
  #part: Uint8Array<ArrayBuffer> | null = null;
  readonly #parts: R2UploadedPart[] = [];

  constructor(store: Store, key: string) {
    this.#store = store;
    this.#key = key;
    this.#blocks = new BlockHashes(store.crc32);
  }

  async write(piece: Uint8Array): Promise<void> {
    this.#blocks.update(piece);
    await this.#hashing.write(piece);
    this.#size += piece.length;
    for (let at = 0; at < piece.length; ) {
      const slice = piece.subarray(at, at + PART_BYTES - this.#unsentBytes);
      this.#unsent.push(slice);
      this.#unsentBytes += slice.length;
      at += slice.length;
      if (this.#unsentBytes === PART_BYTES) await this.#sendPart();
    }
  }

  async finish(): Promise<StoredBody> {
    await this.#hashing.close();
    const sha256 = toHex(new Uint8Array(await this.#digest.digest));
    const blocks = this.#blocks.digest().buffer as ArrayBuffer;
    const isWhole = this.#upload === null && this.#size <= ROW_BYTES;
    if (this.#upload) {
      if (this.#unsentBytes > 0) await this.#sendPart();
      await this.#upload.complete(this.#parts);
    } else if (!isWhole) {
      await this.#store.bucket.put(await this.#recordName(), concatBytes(this.#unsent));
    }
    const bytes = isWhole ? concatBytes(this.#unsent).buffer : null;
    return { size: this.#size, sha256, blocks, bytes, name: this.#name };
  }

  async abandon(): Promise<void> {
    // If aborting fails, R2 deletes the unfinished upload later.
    await this.#hashing.abort().catch(() => {});
    await this.#upload?.abort().catch(() => {});
  }

  /**
   * Chooses the object name and records it before the upload, so that a sweep can delete the object if the upload is
   * never committed.
   */
  async #recordName(): Promise<string> {
    this.#name = `${this.#key}/${crypto.randomUUID()}`;
    await this.#store.object(this.#key).announceBody(this.#name, this.#store.env.now());
    return this.#name;
  }

  /**
   * Uploads the collected bytes as one part. All parts share one buffer: workerd frees unused buffers late, so a new
   * buffer per part would need much more memory.
   */
  async #sendPart(): Promise<void> {
    this.#upload ??= await this.#store.bucket.createMultipartUpload(await this.#recordName());
    this.#part ??= new Uint8Array(PART_BYTES);
    const part = concatBytes(this.#unsent, this.#part.subarray(0, this.#unsentBytes));
    this.#unsent = [];
    this.#unsentBytes = 0;
    this.#parts.push(await this.#upload.uploadPart(this.#parts.length + 1, part));
  }
}
