import { isRelayError } from '../../base/errors.ts';
import { everyItem } from '../../base/pages.ts';
import {
  checkExpiry,
  checkKey,
  checkRange,
  checkSize,
  intake,
  settleExpiry,
} from '../../kernel/admission.ts';
import type { BlobBody, BlobInfo, BlobOptions, BlobPage, Blobs, ByteRange } from '../../kernel/blobs.ts';
import { blocksAround, type Crc32, checkedBody, damagedBody } from '../../kernel/block-hashes.ts';
import type { Staged } from '../../kernel/records.ts';
import type { StoreBucket } from './store-bucket.ts';
import { BODY_BYTES_MAX, readStub, STUB_BYTES, type Stub, writeStub } from './stub.ts';
import { Upload } from './upload.ts';

export interface BucketBlobsOptions {
  readonly store: StoreBucket;
  /** Bodies above this go into the bucket. */
  readonly above: number;
  /** Those that stay with the engine, however large. */
  readonly stays: (key: string) => boolean;
  readonly crc32: Crc32;
  /** Told the size of each object that has been put. */
  readonly uploaded?: (bytes: number) => void;
}

/** What goes to the engine: the body itself, or its stub. Then `info` tells of the body. */
export interface Diverted {
  readonly body: BlobBody;
  readonly options: BlobOptions;
  readonly info?: BlobInfo;
}

/**
 * The blobs of any engine, of which the large ones lie in a bucket: what the engine keeps of them is a stub under the same key, written
 * once the object is there. Time, expiry, order and what lasts together are the engine's as ever. An object
 * whose stub is gone stays until it is swept, so whoever reads it can go on.
 */
export class BucketBlobs implements Blobs {
  readonly #inner: Blobs;
  readonly #o: BucketBlobsOptions;

  constructor(inner: Blobs, o: BucketBlobsOptions) {
    this.#inner = inner;
    this.#o = o;
  }

  async put(key: string, body: BlobBody, o: BlobOptions = {}): Promise<BlobInfo> {
    if (this.#isKept(key, body, o)) return this.#inner.put(key, body, o);
    const kept = await this.divert(key, body, o);
    const info = await this.#inner.put(key, kept.body, kept.options);
    return kept.info ?? info;
  }

  async stage(key: string, body: BlobBody, o: BlobOptions = {}): Promise<Staged & BlobInfo> {
    if (this.#isKept(key, body, o)) return this.#inner.stage(key, body, o);
    const kept = await this.divert(key, body, o);
    // The engine knows what it staged by the very object.
    return Object.assign(await this.#inner.stage(key, kept.body, kept.options), kept.info);
  }

  async get(key: string, range?: ByteRange): Promise<{ body: BlobBody; size: number } | null> {
    const found = await this.#inner.get(key, range).catch((error) => {
      // A range of the body may be none of its stub.
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
      const stub = await this.stub(item.key).catch(ifDamaged);
      return stub ? { ...item, size: stub.size } : item;
    });
    return { ...page, items: await Promise.all(items) };
  }

  /** What is kept under the key in place of a body in the bucket; null where it is a body itself, or nothing. */
  async stub(key: string): Promise<Stub | null> {
    if (this.#o.stays(key)) return null;
    const found = await this.#inner.get(key);
    if (found === null || found.size !== STUB_BYTES) {
      if (found && !(found.body instanceof Uint8Array)) await found.body.cancel();
      return null;
    }
    const bytes = new Uint8Array(await new Response(found.body as BodyInit).arrayBuffer());
    return this.#stubIn(bytes);
  }

  /** The names of all objects that are in use. */
  async *objects(): AsyncGenerator<string> {
    for await (const { key, size } of everyItem('items', (o) => this.#inner.list('', o))) {
      const stub = size === STUB_BYTES ? await this.stub(key).catch(ifDamaged) : null;
      if (stub) yield stub.name;
    }
  }

  async #read(key: string, { name, size, blocks }: Stub, range?: ByteRange): Promise<BlobBody> {
    if (range) checkRange(range, size);
    const wanted = range ?? { start: 0, end: size };
    if (wanted.start === wanted.end) return new Uint8Array();
    const missing = () => damagedBody(`the body of ${key}`, 'missing');
    const { bucket } = (await this.#o.store.known())!;
    const source = bucket.read(name, blocksAround(wanted, size), missing);
    return checkedBody(source, wanted, { key, size, hashes: blocks });
  }

  async divert(key: string, body: BlobBody, o: BlobOptions): Promise<Diverted> {
    if (this.#isKept(key, body, o)) return { body, options: o };
    const { store, above, crc32 } = this.#o;
    checkKey('a key', key);
    if (typeof o.expiresAt === 'number') checkExpiry(o.expiresAt);
    const limits = { size: o.size, max: BODY_BYTES_MAX };
    // Whoever gave it may use its bytes again as soon as this waits.
    const own = body instanceof Uint8Array ? body.slice() : body;
    if (own instanceof Uint8Array) checkSize(own, limits);
    const upload = new Upload(store, crc32);
    try {
      for await (const piece of intake(own, limits)) await upload.write(piece);
      if (upload.size <= above) {
        const held = upload.held();
        if ((await this.#stubIn(held)) === null) return { body: held, options: o };
      }
      const expiresAt = await settleExpiry(o.expiresAt);
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

  /** A stub is written after the store knows its bucket, so whoever has read one finds it known. */
  async #stubIn(bytes: Uint8Array): Promise<Stub | null> {
    const known = bytes.length === STUB_BYTES ? await this.#o.store.known() : null;
    return known && readStub(known.id, bytes);
  }

  /** Whether that it is the engine's can be seen ahead. */
  #isKept(key: string, body: BlobBody, { size }: BlobOptions): boolean {
    if (this.#o.stays(key) || !this.#o.store.isNamed) return true;
    const length = body instanceof Uint8Array ? body.length : size;
    return length !== undefined && length <= this.#o.above && length !== STUB_BYTES;
  }
}

/** Of a stub that is damaged itself nothing is known. */
function ifDamaged(error: unknown): null {
  if (isRelayError(error, 'store_damaged')) return null;
  throw error;
}
