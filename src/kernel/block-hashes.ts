import { concatBytes, readerOf } from '../base/byte-streams.ts';
import { RelayError } from '../base/errors.ts';
import { crc32 } from '../base/hash.ts';
import type { ByteRange } from './blobs.ts';

/**
 * Size of a block in bytes. Each block of a body has its own checksum, so a reader can verify a range
 * without reading the whole body.
 */
export const BLOCK_BYTES = 64 * 1024;

/**
 * Computes a CRC-32. `before` is the CRC-32 of the preceding bytes. Engines on Node pass the implementation
 * of Node, which is faster than `base/hash.ts`.
 */
export type Crc32 = (bytes: Uint8Array, before?: number) => number;

/**
 * Computes the block checksums that every engine stores with a body: the CRC-32 of each block, four bytes
 * each, big-endian. The last block may be shorter. CRC-32 detects accidental damage, not deliberate changes.
 */
export class BlockHashes {
  readonly #crc32: Crc32;
  readonly #done: number[] = [];
  #crc = 0;
  #length = 0;

  constructor(faster: Crc32 = crc32) {
    this.#crc32 = faster;
  }

  /** Adds the next bytes of the body. The pieces may have any length. */
  update(piece: Uint8Array): this {
    for (let at = 0; at < piece.length; ) {
      const part = piece.subarray(at, at + BLOCK_BYTES - this.#length);
      this.#crc = this.#crc32(part, this.#crc);
      this.#length += part.length;
      at += part.length;
      if (this.#length === BLOCK_BYTES) this.#end();
    }
    return this;
  }

  /** Ends the last block and returns the checksums of all blocks. */
  digest(): Uint8Array {
    if (this.#length > 0) this.#end();
    const bytes = new DataView(new ArrayBuffer(this.#done.length * 4));
    for (const [i, crc] of this.#done.entries()) bytes.setUint32(i * 4, crc);
    return new Uint8Array(bytes.buffer);
  }

  #end(): void {
    this.#done.push(this.#crc);
    this.#crc = 0;
    this.#length = 0;
  }
}

/** Extends a range to whole blocks, because only whole blocks can be verified. An empty range stays empty. */
export function alignToBlocks({ start, end }: ByteRange, size: number): ByteRange {
  if (start === end) return { start, end };
  return {
    start: start - (start % BLOCK_BYTES),
    end: Math.min(size, Math.ceil(end / BLOCK_BYTES) * BLOCK_BYTES),
  };
}

/**
 * Compares bytes with their checksums. `start` is the offset of the bytes and must be at a block boundary.
 * `hashes` covers the whole body.
 */
export function isIntact(bytes: Uint8Array, hashes: Uint8Array, start = 0, faster: Crc32 = crc32): boolean {
  const first = (start / BLOCK_BYTES) * 4;
  const found = new BlockHashes(faster).update(bytes).digest();
  return found.every((byte, i) => byte === hashes[first + i]);
}

/** How a body is damaged: it does not exist, is too short, or has other bytes. */
export type BodyFault = 'missing' | 'cut' | 'altered';

/** Returns the error for a damaged body. `name` is shown to users, so it must not contain a path on the server. */
export function damagedBodyError(
  name: string,
  fault: BodyFault,
  hint = 'Run relay doctor --deep to list all damaged data, and relay restore to restore a backup.',
): RelayError {
  return new RelayError('store_damaged', { what: `${name} is ${fault}`, fault, hint });
}

/** Size of a stream chunk in bytes. A chunk contains several blocks, because each chunk has a fixed overhead. */
const CHUNK_BYTES = 4 * BLOCK_BYTES;

/** Data that `checkedBody` needs to verify a body. `hashes` contains the checksums of all blocks. */
export interface BodyChecksums {
  readonly key: string;
  readonly size: number;
  readonly hashes: Uint8Array;
  readonly crc32?: Crc32;
}

/**
 * Returns the requested range of a body as a stream and verifies each block before it emits any byte of the block.
 * `source` must start at the block boundary before `start` (`alignToBlocks`). Throws immediately if the first blocks
 * are damaged; later damage fails the stream.
 */
export async function checkedBody(
  source: ReadableStream<Uint8Array>,
  { start, end }: ByteRange,
  { key, size, hashes, crc32 }: BodyChecksums,
): Promise<ReadableStream<Uint8Array>> {
  const reader = readerOf(source, CHUNK_BYTES);
  const blocks = alignToBlocks({ start, end }, size);
  let at = blocks.start;
  let rest = new Uint8Array(0);
  /** Reads and verifies the next blocks and returns their bytes inside the range. */
  const next = async (): Promise<Uint8Array> => {
    const length = Math.min(CHUNK_BYTES, blocks.end - at);
    const pieces = rest.length > 0 ? [rest] : [];
    let have = rest.length;
    while (have < length) {
      const { done, value } = await reader.read();
      if (done) throw damagedBodyError(`the body of ${key}`, 'cut');
      pieces.push(value as Uint8Array<ArrayBuffer>);
      have += value.length;
    }
    const bytes = pieces.length === 1 ? pieces[0]! : concatBytes(pieces);
    rest = bytes.subarray(length);
    const block = bytes.subarray(0, length);
    if (!isIntact(block, hashes, at, crc32)) {
      // The body is already damaged, so an error while closing its source does not matter.
      await reader.cancel().catch(() => {});
      throw damagedBodyError(`the body of ${key}`, 'altered');
    }
    const slice = block.subarray(Math.max(start - at, 0), Math.max(end - at, 0));
    at += length;
    return slice;
  };
  let first: Uint8Array | null = await next();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const piece = first ?? (await next());
        first = null;
        if (piece.length > 0) controller.enqueue(piece);
        if (at < blocks.end) return;
        controller.close();
        // All bytes were read, so an error while closing the source does not matter.
        await reader.cancel().catch(() => {});
      },
      cancel: () => reader.cancel(),
    },
    { highWaterMark: 0 },
  );
}
