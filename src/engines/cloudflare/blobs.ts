import type { R2MultipartUpload, R2UploadedPart } from '@cloudflare/workers-types';
import { RelayError } from '../../base/errors.ts';
import { toHex } from '../../base/ids.ts';
import {
  checkExpiry,
  checkKey,
  checkLimit,
  checkRange,
  checkSize,
  checkText,
  compareKeys,
  intake,
  settleExpiry,
} from '../../kernel/admission.ts';
import type {
  BlobBody,
  BlobInfo,
  BlobItem,
  BlobOptions,
  BlobPage,
  Blobs,
  ByteRange,
} from '../../kernel/blobs.ts';
import { BlockHashes, blocksAround, damagedBody, isIntact } from '../../kernel/block-hashes.ts';
import { checkedBody } from '../../kernel/checked-body.ts';
import type { Staged } from '../../kernel/staged.ts';
import type { Store } from './store.ts';

/** Bodies up to this are a row: a call less than in the bucket, and no fee for each. A row takes 2 MB. */
const ROW_BYTES = 512 * 1024;
/** The parts in which a larger body goes into the bucket; R2 takes no smaller ones. */
const PART_BYTES = 5 * 1024 * 1024;

export class CloudflareBlobs implements Blobs {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  async put(key: string, body: BlobBody, o: BlobOptions = {}): Promise<BlobInfo> {
    checkKey('a key', key);
    if (typeof o.expiresAt === 'number') checkExpiry(o.expiresAt);
    const limits = { size: o.size, max: this.#store.limits.blobBytes };
    // Whoever gave it may use its bytes again as soon as this waits.
    const own = body instanceof Uint8Array ? body.slice() : body;
    if (own instanceof Uint8Array) checkSize(own, limits);
    const upload = new Upload(this.#store, key);
    try {
      for await (const piece of intake(own, limits)) await upload.write(piece);
      const expires = (await settleExpiry(o.expiresAt)) ?? null;
      return await upload.finish(expires);
    } catch (error) {
      await upload.abandon();
      throw error;
    }
  }

  async stage(key: string, body: BlobBody, o?: BlobOptions): Promise<Staged & BlobInfo> {
    return { key, ...(await this.put(key, body, o)) };
  }

  async get(key: string, range?: ByteRange): Promise<{ body: BlobBody; size: number } | null> {
    checkKey('a key', key);
    const row = await this.#store.object(key).getBody(key, this.#store.env.now());
    if (!row) return null;
    const { size, bytes, name } = row;
    if (range) checkRange(range, size);
    const { start, end } = range ?? { start: 0, end: size };
    const hashes = new Uint8Array(row.blocks);
    if (bytes !== null) {
      const whole = new Uint8Array(bytes);
      if (whole.length !== size || !isIntact(whole, hashes))
        throw damagedBody(`the body of ${key}`, 'altered');
      return { body: whole.subarray(start, end), size };
    }
    if (start === end) return { body: new Uint8Array(), size };
    const blocks = blocksAround({ start, end }, size);
    const object = await this.#store.bucket.get(name!, {
      range: { offset: blocks.start, length: blocks.end - blocks.start },
    });
    if (!object) throw damagedBody(`the body of ${key}`, 'missing');
    const body = object.body as unknown as ReadableStream<Uint8Array>;
    return { body: await checkedBody(body, { start, end }, { key, size, hashes }), size };
  }

  async delete(key: string): Promise<void> {
    checkKey('a key', key);
    await this.#store.object(key).deleteBody(key, this.#store.env.now());
  }

  async list(prefix: string, o: { after?: string; limit?: number } = {}): Promise<BlobPage> {
    checkText('the prefix of a listing', prefix);
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
}

/** A body on its way in: a row while it is small, parts of an object in the bucket once it is not. */
class Upload {
  readonly #store: Store;
  readonly #key: string;
  readonly #blocks = new BlockHashes();
  readonly #digest = new crypto.DigestStream('SHA-256');
  readonly #hashing = this.#digest.getWriter();
  #size = 0;
  /** What is not in the bucket yet. */
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #name: string | null = null;
  #upload: R2MultipartUpload | null = null;
  readonly #parts: R2UploadedPart[] = [];

  constructor(store: Store, key: string) {
    this.#store = store;
    this.#key = key;
  }

  async write(piece: Uint8Array): Promise<void> {
    this.#blocks.update(piece);
    await this.#hashing.write(piece);
    this.#size += piece.length;
    this.#held.push(piece);
    this.#heldBytes += piece.length;
    while (this.#heldBytes >= PART_BYTES) await this.#sendPart(PART_BYTES);
  }

  async finish(expires: number | null): Promise<BlobInfo> {
    await this.#hashing.close();
    const sha256 = toHex(new Uint8Array(await this.#digest.digest));
    const blocks = this.#blocks.digest().buffer as ArrayBuffer;
    const inRow = this.#upload === null && this.#size <= ROW_BYTES;
    if (!inRow) {
      await this.#sendPart(this.#heldBytes);
      await this.#upload!.complete(this.#parts);
    }
    const bytes = inRow ? (join(this.#held, this.#size).buffer as ArrayBuffer) : null;
    const row = {
      key: this.#key,
      size: this.#size,
      at: this.#store.env.now(),
      expires,
      sha256,
      blocks,
      bytes,
    };
    const put = await this.#store.object(this.#key).putBody({ ...row, name: this.#name });
    if (!put) throw new RelayError('busy', { what: 'the body came so slowly that it was given up' });
    return { size: this.#size, sha256 };
  }

  async abandon(): Promise<void> {
    await this.#hashing.abort().catch(() => {});
    await this.#upload?.abort().catch(() => {});
  }

  async #sendPart(length: number): Promise<void> {
    if (this.#upload === null) {
      this.#name = `${this.#key}/${crypto.randomUUID()}`;
      await this.#store.object(this.#key).announceBody(this.#name, this.#store.env.now());
      this.#upload = await this.#store.bucket.createMultipartUpload(this.#name);
    }
    if (length === 0 && this.#parts.length > 0) return;
    const held = join(this.#held, this.#heldBytes);
    this.#parts.push(await this.#upload.uploadPart(this.#parts.length + 1, held.subarray(0, length)));
    const rest = held.subarray(length);
    this.#held = [rest];
    this.#heldBytes = rest.length;
  }
}

function join(pieces: readonly Uint8Array[], length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}
