import { concatBytes } from '../../base/byte-streams.ts';
import { isRelayError, uploadTooSlow } from '../../base/errors.ts';
import { toHex } from '../../base/ids.ts';
import { everyItem } from '../../base/pages.ts';
import type { BlobBody, BlobInfo, BlobOptions, BlobPage, Blobs, ByteRange } from '../../kernel/blobs.ts';
import { alignToBlocks, checkedBody, damagedBodyError } from '../../kernel/block-hashes.ts';
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
import type { Place, StoreBucket } from './store-bucket.ts';
import { BODY_BYTES_MAX, readStub, STUB_BYTES, type Stub, writeStub } from './stub.ts';

export interface BucketBlobsOptions {
  readonly store: StoreBucket;
  /** Size in bytes above which a blob is stored in the bucket. */
  readonly above: number;
  /** Returns true for a key whose blob is stored in the wrapped engine whatever its size, never in the bucket. */
  readonly stays: (key: string) => boolean;
  /** Size in bytes of a part of a multipart upload, at least 5 MiB. */
  readonly partBytes?: number;
  /** Called after each upload with the size of the object in bytes. */
  readonly uploaded?: (bytes: number) => void;
}

/** The bytes that the engine stores: the blob or its stub. For a stub, `info` has the size and hash of the blob. */
export interface Diverted {
  readonly body: BlobBody;
  readonly options: BlobOptions;
  readonly info?: BlobInfo;
}

/**
 * Wraps the blobs of any engine and stores large blobs in a bucket. For a large blob, the engine stores a
 * stub under the key. The stub is written after the object. The engine still handles times, expiry, order and
 * commits. An object whose stub was deleted stays until a sweep, so that running reads can finish.
 */
export class BucketBlobs implements Blobs {
  readonly #inner: Blobs;
  readonly #o: BucketBlobsOptions;

  constructor(inner: Blobs, o: BucketBlobsOptions) {
    this.#inner = inner;
    this.#o = o;
  }

  async put(key: string, body: BlobBody, o: BlobOptions = {}): Promise<BlobInfo> {
    if (this.#staysInEngine(key, body, o)) return this.#inner.put(key, body, o);
    const diverted = await this.divert(key, body, o);
    const info = await this.#inner.put(key, diverted.body, diverted.options);
    return diverted.info ?? info;
  }

  async stage(key: string, body: BlobBody, o: BlobOptions = {}): Promise<Staged & BlobInfo> {
    if (this.#staysInEngine(key, body, o)) return this.#inner.stage(key, body, o);
    const diverted = await this.divert(key, body, o);
    // The engine recognizes staged blobs by object identity. So add the fields to its object instead of copying it.
    return Object.assign(await this.#inner.stage(key, diverted.body, diverted.options), diverted.info);
  }

  async get(key: string, range?: ByteRange): Promise<{ body: BlobBody; size: number } | null> {
    const found = await this.#inner.get(key, range).catch((error) => {
      // The stored bytes may be a stub, which can be shorter than the blob. The range may then be valid for the blob,
      // so keep the error for now.
      if (range && isRelayError(error, 'range_not_satisfiable')) return { error };
      throw error;
    });
    if (found && !('error' in found) && found.size !== STUB_BYTES) return found;
    const stub = found && (await this.stub(key));
    if (stub) return { body: await this.#read(key, stub, range), size: stub.size };
    if (found && 'error' in found) throw found.error;
    return found;
  }

  delete(key: string): Promise<void> {
    return this.#inner.delete(key);
  }

  async list(prefix: string, o?: { after?: string; limit?: number }): Promise<BlobPage> {
    const page = await this.#inner.list(prefix, o);
    const items = page.items.map(async (item) => {
      if (item.size !== STUB_BYTES) return item;
      const stub = await this.stub(item.key).catch(ignoreDamage);
      return stub ? { ...item, size: stub.size } : item;
    });
    return { ...page, items: await Promise.all(items) };
  }

  /**
   * Reads the stub of a key. Returns null if the engine stores the blob itself or has no blob under the key.
   */
  async stub(key: string): Promise<Stub | null> {
    if (this.#o.stays(key)) return null;
    const found = await this.#inner.get(key);
    if (found === null || found.size !== STUB_BYTES) {
      if (found && !(found.body instanceof Uint8Array)) await found.body.cancel();
      return null;
    }
    const bytes = new Uint8Array(await new Response(found.body as BodyInit).arrayBuffer());
    return this.#parseStub(bytes);
  }

  /** Yields the names of all objects that have a stub. */
  async *objects(): AsyncGenerator<string> {
    for await (const { key, size } of everyItem('items', (o) => this.#inner.list('', o))) {
      const stub = size === STUB_BYTES ? await this.stub(key).catch(ignoreDamage) : null;
      if (stub) yield stub.name;
    }
  }

  async #read(key: string, { name, size, blocks }: Stub, range?: ByteRange): Promise<BlobBody> {
    if (range) checkRange(range, size);
    const wanted = range ?? { start: 0, end: size };
    if (wanted.start === wanted.end) return new Uint8Array();
    const missing = () => damagedBodyError(`the body of ${key}`, 'missing');
    const { bucket } = (await this.#o.store.recorded())!;
    const source = await bucket.read(name, alignToBlocks(wanted, size), missing);
    return checkedBody(source, wanted, { key, size, hashes: blocks, crc32 });
  }

  /** Uploads a large blob to the bucket and returns its stub. Returns a small blob unchanged. */
  async divert(key: string, body: BlobBody, o: BlobOptions): Promise<Diverted> {
    if (this.#staysInEngine(key, body, o)) return { body, options: o };
    const { store, above } = this.#o;
    checkKey('a key', key);
    if (typeof o.expiresAt === 'number') checkExpiry(o.expiresAt);
    const limits = { size: o.size, max: BODY_BYTES_MAX };
    // Copy the bytes, because the caller may change its buffer after the first await.
    const own = body instanceof Uint8Array ? body.slice() : body;
    if (own instanceof Uint8Array) checkSize(own, limits);
    const upload = new Upload(store, this.#o.partBytes);
    try {
      for await (const piece of readPieces(own, limits)) await upload.write(piece);
      if (upload.size <= above) {
        const bytes = upload.unsent();
        if ((await this.#parseStub(bytes)) === null) return { body: bytes, options: o };
      }
      const expiresAt = await resolveExpiry(o.expiresAt);
      const { id, stub } = await upload.finish();
      this.#o.uploaded?.(stub.size);
      const info = { size: stub.size, sha256: stub.sha256 };
      const options = expiresAt === undefined ? {} : { expiresAt };
      return { body: writeStub(id, stub), options, info };
    } catch (error) {
      await upload.abandon();
      throw error;
    }
  }

  /**
   * Parses a stub. Returns null if the bytes are not a stub. The record with the address of the bucket is
   * written before the first stub, so a process that reads a stub always finds this record.
   */
  async #parseStub(bytes: Uint8Array): Promise<Stub | null> {
    const recorded = bytes.length === STUB_BYTES ? await this.#o.store.recorded() : null;
    return recorded && readStub(recorded.id, bytes);
  }

  /** Returns whether the key or the announced size already shows that the blob stays in the engine. */
  #staysInEngine(key: string, body: BlobBody, { size }: BlobOptions): boolean {
    if (this.#o.stays(key) || !this.#o.store.isNamed) return true;
    const length = body instanceof Uint8Array ? body.length : size;
    return length !== undefined && length <= this.#o.above && length !== STUB_BYTES;
  }
}

/** Returns null for a damaged stub, as if there were none. Throws any other error. */
function ignoreDamage(error: unknown): null {
  if (isRelayError(error, 'store_damaged')) return null;
  throw error;
}

/** Size in bytes of a part of a multipart upload. A part is kept in memory for retries. S3 requires at least 5 MiB. */
const PART_BYTES = 8 * 1024 * 1024;

/**
 * Age in ms at which an object without a stub is an orphan. S3 may measure the age from the start of the
 * upload, so this time is longer than any upload.
 */
export const ORPHAN_MS = 3_600_000;
/**
 * Maximum duration of an upload in ms. It is shorter than `ORPHAN_MS`. Otherwise a sweep could delete a new
 * object that has no stub yet.
 */
const MAX_UPLOAD_MS = ORPHAN_MS / 2;

/**
 * The upload of one blob. It sends nothing before a full part has arrived, so that a small blob can still be stored
 * in the engine.
 */
class Upload {
  readonly #store: StoreBucket;
  /** Bucket and object name. Null before the first request. */
  #to: (Place & { readonly name: string }) | null = null;
  readonly #hashes = new BodyHashes();
  readonly #began = performance.now();
  #unsent: Uint8Array[] = [];
  #unsentBytes = 0;
  /** Id of the multipart upload. Null if there is none. */
  #upload: string | null = null;
  readonly #etags: string[] = [];
  readonly #partBytes: number;
  #part: Uint8Array<ArrayBuffer> | null = null;

  constructor(store: StoreBucket, partBytes = PART_BYTES) {
    this.#store = store;
    this.#partBytes = partBytes;
  }

  get size(): number {
    return this.#hashes.size;
  }

  async write(piece: Uint8Array): Promise<void> {
    this.#hashes.update(piece);
    for (let at = 0; at < piece.length; ) {
      // Send a full part only if more bytes follow, so that a blob of one part needs no multipart upload.
      if (this.#unsentBytes === this.#partBytes) await this.#sendPart();
      const slice = piece.subarray(at, at + this.#partBytes - this.#unsentBytes);
      this.#unsent.push(slice);
      this.#unsentBytes += slice.length;
      at += slice.length;
    }
  }

  /** Returns the bytes that are not sent yet: for a small blob all of them. */
  unsent(): Uint8Array<ArrayBuffer> {
    return concatBytes(this.#unsent);
  }

  /** Completes the upload. Returns the id of the store and the stub. */
  async finish(): Promise<{ id: string; stub: Stub }> {
    const { id, bucket, name } = await this.#target();
    if (this.#upload === null) await bucket.put(name, this.unsent());
    else {
      await this.#sendPart();
      await bucket.complete(name, this.#upload, this.#etags, this.size);
    }
    if (performance.now() - this.#began > MAX_UPLOAD_MS) throw uploadTooSlow();
    return { id, stub: { name, ...this.#hashes.digest() } };
  }

  async abandon(): Promise<void> {
    if (this.#to === null || this.#upload === null) return;
    // If aborting fails, a sweep aborts the upload later.
    await this.#to.bucket.abort(this.#to.name, this.#upload).catch(() => {});
  }

  /**
   * Uploads the unsent bytes as one part. All parts share one buffer: a Worker frees unused buffers late, so a new
   * buffer per part would need much more memory.
   */
  async #sendPart(): Promise<void> {
    const { bucket, name } = await this.#target();
    this.#upload ??= await bucket.begin(name);
    this.#part ??= new Uint8Array(this.#partBytes);
    const part = concatBytes(this.#unsent, this.#part.subarray(0, this.#unsentBytes));
    this.#unsent = [];
    this.#unsentBytes = 0;
    this.#etags.push(await bucket.putPart(name, this.#upload, this.#etags.length + 1, part));
  }

  async #target() {
    if (this.#to === null) {
      const place = await this.#store.claim();
      this.#to = { ...place, name: `${place.id}/${toHex(crypto.getRandomValues(new Uint8Array(16)))}` };
    }
    return this.#to;
  }
}
