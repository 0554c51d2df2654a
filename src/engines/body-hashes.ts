import { crc32 as shortCrc32 } from '../base/hash.ts';
import type { BlobInfo } from '../kernel/blobs.ts';
import { BlockHashes } from '../kernel/block-hashes.ts';

// `node:crypto` and `node:zlib` are loaded at first use. On Bun they take more than 3 ms to load, and commands that only
// read a state or an inbox hash nothing.

/** Maximum bytes of a text whose CRC is computed without `node:zlib`, because loading that takes longer. */
const SHORT_BYTES = 4096;

export function crc32(bytes: Uint8Array, before = 0): number {
  if (bytes.length <= SHORT_BYTES) return shortCrc32(bytes, before);
  return process.getBuiltinModule('node:zlib').crc32(bytes, before);
}

/** Returns the SHA-256 hash as hexadecimal digits. */
export function sha256(data: string | Uint8Array): string {
  return process.getBuiltinModule('node:crypto').hash('sha256', data);
}

/** Size and hashes of a body. */
export interface HashedBody extends BlobInfo {
  /** Block checksums (`kernel/block-hashes.ts`). */
  readonly blocks: Uint8Array;
}

/** Computes the size, SHA-256 and block checksums of a body piece by piece. */
export class BodyHashes {
  readonly #sha256 = process.getBuiltinModule('node:crypto').createHash('sha256');
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
