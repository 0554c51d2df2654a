import { createHash } from 'node:crypto';
import { joined } from '../../base/byte-streams.ts';
import { RelayError } from '../../base/errors.ts';
import { toHex } from '../../base/ids.ts';
import { BlockHashes, type Crc32 } from '../../kernel/block-hashes.ts';
import type { Place, StoreBucket } from './store-bucket.ts';
import type { Stub } from './stub.ts';

/** What is sent, and sent again, at once; also what an upload holds in memory. S3 takes no parts below 5 MiB. */
const PART_BYTES = 8 * 1024 * 1024;

/** From when on an object that nothing refers to is an orphan. S3 may date an object by when its upload began. */
export const ORPHAN_MS = 3_600_000;
/** So an upload must be over well before. */
const UPLOAD_MS = ORPHAN_MS / 2;

/** A body on its way in. It is held until it is a part, so a small one can still go elsewhere. */
export class Upload {
  readonly #store: StoreBucket;
  /** Where it goes, from when any of it does. */
  #to: (Place & { readonly name: string }) | null = null;
  readonly #sha256 = createHash('sha256');
  readonly #blocks: BlockHashes;
  readonly #began = performance.now();
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  /** The id under which its parts are sent. */
  #upload: string | null = null;
  readonly #etags: string[] = [];
  size = 0;

  constructor(store: StoreBucket, crc32: Crc32) {
    this.#store = store;
    this.#blocks = new BlockHashes(crc32);
  }

  async write(piece: Uint8Array): Promise<void> {
    this.#sha256.update(piece);
    this.#blocks.update(piece);
    this.size += piece.length;
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
    const sha256 = this.#sha256.digest('hex');
    return { id, stub: { name, size: this.size, sha256, blocks: this.#blocks.digest() } };
  }

  async abandon(): Promise<void> {
    if (this.#to === null || this.#upload === null) return;
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
