import { joined, readerOf } from '../base/byte-streams.ts';
import type { ByteRange } from './blobs.ts';
import { BLOCK_BYTES, blocksAround, type Crc32, damagedBody, isIntact } from './block-hashes.ts';

/** What is read, checked and given at once: some blocks, since each turn of a stream takes its time. */
const AT_ONCE = 4 * BLOCK_BYTES;

export interface CheckedBy {
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
  { key, size, hashes, crc32 }: CheckedBy,
): Promise<ReadableStream<Uint8Array>> {
  const reader = readerOf(source, AT_ONCE);
  const blocks = blocksAround({ start, end }, size);
  let at = blocks.start;
  let held = new Uint8Array(0);
  /** The next blocks as far as they were asked for. */
  const next = async (): Promise<Uint8Array> => {
    const length = Math.min(AT_ONCE, blocks.end - at);
    const pieces = held.length > 0 ? [held] : [];
    let have = held.length;
    while (have < length) {
      const { done, value } = await reader.read();
      if (done) throw damagedBody(`the body of ${key}`, 'cut');
      pieces.push(value as Uint8Array<ArrayBuffer>);
      have += value.length;
    }
    const bytes = pieces.length === 1 ? pieces[0]! : joined(pieces);
    held = bytes.subarray(length);
    const block = bytes.subarray(0, length);
    if (!isIntact(block, hashes, at, crc32)) {
      await reader.cancel().catch(() => {});
      throw damagedBody(`the body of ${key}`, 'altered');
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
        await reader.cancel().catch(() => {});
      },
      cancel: () => reader.cancel(),
    },
    { highWaterMark: 0 },
  );
}
