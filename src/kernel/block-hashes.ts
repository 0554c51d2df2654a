import { joined, readerOf } from '../base/byte-streams.ts';
import { RelayError } from '../base/errors.ts';
import { crc32 } from '../base/hash.ts';
import type { ByteRange } from './blobs.ts';

/** A body is checked in blocks of this size, so that a part of it can be checked without the rest. */
export const BLOCK_BYTES = 64 * 1024;

/** The CRC-32 of bytes, where `before` is that of the bytes that came first. Platforms have faster ones than our own. */
export type Crc32 = (bytes: Uint8Array, before?: number) => number;

/**
 * What every engine keeps of a body beside its SHA-256: the CRC-32 of each block, the last of which may be shorter, as
 * four bytes each, the most significant first. It tells damage, not forgery.
 */
export class BlockHashes {
  readonly #crc32: Crc32;
  readonly #done: number[] = [];
  #crc = 0;
  #length = 0;

  constructor(faster: Crc32 = crc32) {
    this.#crc32 = faster;
  }

  /** The next piece of the body, of any length. */
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

/** What has to be read of a body to check a range of it: the blocks that the range touches, whole. */
export function alignToBlocks({ start, end }: ByteRange, size: number): ByteRange {
  if (start === end) return { start, end };
  return {
    start: start - (start % BLOCK_BYTES),
    end: Math.min(size, Math.ceil(end / BLOCK_BYTES) * BLOCK_BYTES),
  };
}

/** Whether bytes of a body are what was stored. They begin with a block, at `start`; `hashes` are those of the whole body. */
export function isIntact(bytes: Uint8Array, hashes: Uint8Array, start = 0, faster: Crc32 = crc32): boolean {
  const first = (start / BLOCK_BYTES) * 4;
  const found = new BlockHashes(faster).update(bytes).digest();
  return found.every((byte, i) => byte === hashes[first + i]);
}

/** What can be wrong with a body. */
export type BodyFault = 'missing' | 'cut' | 'altered';

/** What an engine throws for a body that is not what was stored. `name` holds no path of the machine. */
export function damagedBodyError(
  name: string,
  fault: BodyFault,
  hint = 'relay doctor --deep names everything that is damaged; relay restore brings back a backup.',
): RelayError {
  return new RelayError('store_damaged', { what: `${name} is ${fault}`, fault, hint });
}

/** What is read, checked and given at once: some blocks, since each turn of a stream takes its time. */
const AT_ONCE = 4 * BLOCK_BYTES;

export interface BodyChecksums {
  readonly key: string;
  readonly size: number;
  readonly hashes: Uint8Array;
  readonly crc32?: Crc32;
}

/**
 * The bytes from `start` up to `end` of a body that comes from elsewhere in whole blocks; each block is checked before any of it is
 * given. Throws where the first ones are damaged already.
 */
export async function checkedBody(
  source: ReadableStream<Uint8Array>,
  { start, end }: ByteRange,
  { key, size, hashes, crc32 }: BodyChecksums,
): Promise<ReadableStream<Uint8Array>> {
  const reader = readerOf(source, AT_ONCE);
  const blocks = alignToBlocks({ start, end }, size);
  let at = blocks.start;
  let held = new Uint8Array(0);
  /** The next blocks as far as they were asked for. */
  const next = async (): Promise<Uint8Array> => {
    const length = Math.min(AT_ONCE, blocks.end - at);
    const pieces = held.length > 0 ? [held] : [];
    let have = held.length;
    while (have < length) {
      const { done, value } = await reader.read();
      if (done) throw damagedBodyError(`the body of ${key}`, 'cut');
      pieces.push(value as Uint8Array<ArrayBuffer>);
      have += value.length;
    }
    const bytes = pieces.length === 1 ? pieces[0]! : joined(pieces);
    held = bytes.subarray(length);
    const block = bytes.subarray(0, length);
    if (!isIntact(block, hashes, at, crc32)) {
      // The source is not needed any more; a failure to close it changes nothing.
      await reader.cancel().catch(() => {});
      throw damagedBodyError(`the body of ${key}`, 'altered');
    }
    const wanted = block.subarray(Math.max(start - at, 0), Math.max(end - at, 0));
    at += length;
    return wanted;
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
        // The source is not needed any more; a failure to close it changes nothing.
        await reader.cancel().catch(() => {});
      },
      cancel: () => reader.cancel(),
    },
    { highWaterMark: 0 },
  );
}
