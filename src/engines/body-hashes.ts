import { bun, type Sha256 } from '../base/bun.ts';
import type { BlobInfo } from '../kernel/blobs.ts';
import { BlockHashes } from '../kernel/block-hashes.ts';

export function crc32(bytes: Uint8Array, before = 0): number {
  return bun ? bun.hash.crc32(bytes, before) : process.getBuiltinModule('node:zlib').crc32(bytes, before);
}

/** Returns the SHA-256 hash as hexadecimal digits. */
export function sha256(data: string | Uint8Array): string {
  return startSha256().update(data).digest('hex');
}

function startSha256(): Sha256 {
  return bun ? new bun.CryptoHasher('sha256') : process.getBuiltinModule('node:crypto').createHash('sha256');
}

/** Size and hashes of a body. */
export interface HashedBody extends BlobInfo {
  /** Block checksums (`kernel/block-hashes.ts`). */
  readonly blocks: Uint8Array;
}

/** Computes the size, SHA-256 and block checksums of a body piece by piece. */
export class BodyHashes {
  readonly #sha256 = startSha256();
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
