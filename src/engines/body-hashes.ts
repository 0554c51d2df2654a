import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { BlobInfo } from '../kernel/blobs.ts';
import { BlockHashes } from '../kernel/block-hashes.ts';

/** Size and hashes of a body. */
export interface HashedBody extends BlobInfo {
  /** Block checksums (`kernel/block-hashes.ts`). */
  readonly blocks: Uint8Array;
}

/** Computes the size, SHA-256 and block checksums of a body piece by piece. */
export class BodyHashes {
  readonly #sha256 = createHash('sha256');
  readonly #blocks = new BlockHashes(crc32);
  size = 0;

  update(piece: Uint8Array): this {
    this.#sha256.update(piece);
    this.#blocks.update(piece);
    this.size += piece.length;
    return this;
  }

  digest(): HashedBody {
    return { size: this.size, sha256: this.#sha256.digest('hex'), blocks: this.#blocks.digest() };
  }
}
