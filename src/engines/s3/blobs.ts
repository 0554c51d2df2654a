import { crc32 } from 'node:zlib';
import { joined } from '../../base/byte-streams.ts';
import { isRelayError, RelayError } from '../../base/errors.ts';
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
import { BodyHashes } from '../body-hashes.ts';
import type { Place, StoreBucket } from './store-bucket.ts';
import { BODY_BYTES_MAX, readStub, STUB_BYTES, type Stub, writeStub } from './stub.ts';

export interface BucketBlobsOptions {
  readonly store: StoreBucket;
  /** Bodies above this go into the bucket. */
  readonly above: number;
  /** Those that stay with the engine, however large. */
  readonly stays: (key: string) => boolean;
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
    const missing = () => damagedBodyError(`the body of ${key}`, 'missing');
    const { bucket } = (await this.#o.store.known())!;
    const source = bucket.read(name, alignToBlocks(wanted, size), missing);
    return checkedBody(source, wanted, { key, size, hashes: blocks, crc32 });
  }

  async divert(key: string, body: BlobBody, o: BlobOptions): Promise<Diverted> {
    if (this.#isKept(key, body, o)) return { body, options: o };
    const { store, above } = this.#o;
    checkKey('a key', key);
    if (typeof o.expiresAt === 'number') checkExpiry(o.expiresAt);
    const limits = { size: o.size, max: BODY_BYTES_MAX };
    // Whoever gave it may use its bytes again as soon as this waits.
    const own = body instanceof Uint8Array ? body.slice() : body;
    if (own instanceof Uint8Array) checkSize(own, limits);
    const upload = new Upload(store);
    try {
      for await (const piece of readPieces(own, limits)) await upload.write(piece);
      if (upload.size <= above) {
        const held = upload.held();
        if ((await this.#stubIn(held)) === null) return { body: held, options: o };
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

/** What is sent, and sent again, at once; also what an upload holds in memory. S3 takes no parts below 5 MiB. */
const PART_BYTES = 8 * 1024 * 1024;

/** From when on an object that nothing refers to is an orphan. S3 may date an object by when its upload began. */
export const ORPHAN_MS = 3_600_000;
/** So an upload must be over well before. */
const UPLOAD_MS = ORPHAN_MS / 2;

/** A body on its way in. It is held until it is a part, so a small one can still go elsewhere. */
class Upload {
  readonly #store: StoreBucket;
  /** Where it goes, from when any of it does. */
  #to: (Place & { readonly name: string }) | null = null;
  readonly #hashes = new BodyHashes();
  readonly #began = performance.now();
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  /** The id under which its parts are sent. */
  #upload: string | null = null;
  readonly #etags: string[] = [];

  constructor(store: StoreBucket) {
    this.#store = store;
  }

  get size(): number {
    return this.#hashes.size;
  }

  async write(piece: Uint8Array): Promise<void> {
    this.#hashes.update(piece);
    this.#held.push(piece);
    this.#heldBytes += piece.length;
    while (this.#heldBytes > PART_BYTES) await this.#sendPart(PART_BYTES);
  }

  /** What was not sent yet; all of it, where it is small. */
  held(): Uint8Array<ArrayBuffer> {
    return joined(this.#held);
  }

  /** Gives the id of the store along with the stub. */
  async finish(): Promise<{ id: string; stub: Stub }> {
    const { id, bucket, name } = await this.#target();
    if (this.#upload === null) await bucket.put(name, this.held());
    else {
      await this.#sendPart(this.#heldBytes);
      await bucket.complete(name, this.#upload, this.#etags, this.size);
    }
    if (performance.now() - this.#began > UPLOAD_MS)
      throw new RelayError('busy', { what: 'the body came so slowly that it was given up' });
    return { id, stub: { name, ...this.#hashes.digest() } };
  }

  async abandon(): Promise<void> {
    if (this.#to === null || this.#upload === null) return;
    // Otherwise a sweep aborts it.
    await this.#to.bucket.abort(this.#to.name, this.#upload).catch(() => {});
  }

  async #sendPart(length: number): Promise<void> {
    const { bucket, name } = await this.#target();
    this.#upload ??= await bucket.begin(name);
    const held = this.held();
    const part = held.subarray(0, length);
    this.#etags.push(await bucket.putPart(name, this.#upload, this.#etags.length + 1, part));
    this.#held = [held.subarray(length)];
    this.#heldBytes -= length;
  }

  async #target() {
    if (this.#to === null) {
      const place = await this.#store.claim();
      this.#to = { ...place, name: `${place.id}/${toHex(crypto.getRandomValues(new Uint8Array(16)))}` };
    }
    return this.#to;
  }
}
