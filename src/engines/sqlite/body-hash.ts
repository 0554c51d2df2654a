import { crc32 } from '../../base/crc32.ts';
import { toHex } from '../../base/ids.ts';
import { sha256 } from '../../base/sha256.ts';
import type { Crc32 } from '../../kernel/block-hashes.ts';

/** How the bytes of a body are hashed. */
export interface BodyHashes {
  readonly crc32: Crc32;
  sha256(): Sha256;
}

export interface Sha256 {
  update(bytes: Uint8Array): unknown;
  /** Once. */
  digest(form: 'hex'): string;
}

/** Bodies up to this are hashed sooner than Node's own hashes are loaded, which takes six milliseconds. */
const SHORT_BYTES = 16 * 1024;

/** For a server. */
export function nodeHashes(): BodyHashes {
  return {
    crc32: process.getBuiltinModule('node:zlib').crc32,
    sha256: process.getBuiltinModule('node:crypto').createHash.bind(null, 'sha256'),
  };
}

/** For a command, whose one body is short more often than not. */
export const commandHashes: BodyHashes = {
  crc32,
  sha256() {
    const pieces: Uint8Array[] = [];
    let size = 0;
    let long: Sha256 | null = null;
    return {
      update(bytes) {
        size += bytes.length;
        if (size <= SHORT_BYTES) {
          pieces.push(new Uint8Array(bytes));
          return;
        }
        if (!long) {
          long = nodeHashes().sha256();
          for (const piece of pieces) long.update(piece);
        }
        long.update(bytes);
      },
      digest: (form) => long?.digest(form) ?? toHex(sha256(Buffer.concat(pieces))),
    };
  },
};
