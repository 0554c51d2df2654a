import { toHex } from '../../src/base/ids.ts';
import type { BlobBody } from '../../src/kernel/blobs.ts';

/** A size of several megabytes that is no multiple of any block size. */
export const LARGE = 6 * 1024 * 1024 + 17;

export type Bytes = Uint8Array<ArrayBuffer>;

/**
 * Returns bytes that do not repeat within any block size, so that a lost, repeated or swapped piece is
 * detected.
 */
export function patterned(length: number, seed = 1): Bytes {
  const bytes = new Uint8Array(length);
  let state = seed >>> 0 || 1;
  for (let i = 0; i < length; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    bytes[i] = state;
  }
  return bytes;
}

/** Streams the bytes in pieces, each created on demand. With `failAt` the stream fails before that piece. */
export function streamOf(
  bytes: Uint8Array,
  o: { piece?: number; failAt?: number; onPull?: (piece: number) => void; onCancel?: () => void } = {},
): ReadableStream<Uint8Array> {
  const piece = o.piece ?? 64 * 1024;
  let next = 0;
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        o.onPull?.(next);
        if (next === o.failAt) throw new Error('the line broke');
        if (next * piece >= bytes.length) return controller.close();
        controller.enqueue(bytes.slice(next * piece, ++next * piece));
      },
      cancel: () => o.onCancel?.(),
    },
    { highWaterMark: 0 },
  );
}

/** Streams zeros without holding them in memory. */
export function zeros(length: number): ReadableStream<Uint8Array> {
  let left = length;
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (left === 0) return controller.close();
        const size = Math.min(left, 1 << 20);
        left -= size;
        controller.enqueue(new Uint8Array(size));
      },
    },
    { highWaterMark: 0 },
  );
}

export async function collect(body: BlobBody): Promise<Bytes> {
  if (body instanceof Uint8Array) return new Uint8Array(body);
  return new Uint8Array(await new Response(body as ReadableStream<Bytes>).arrayBuffer());
}

/** Reads at least the first `count` bytes, and the rest on request. */
export async function started(body: BlobBody, count: number): Promise<{ rest(): Promise<Bytes> }> {
  if (body instanceof Uint8Array) return { rest: async () => new Uint8Array(body) };
  const reader = body.getReader();
  const pieces: Uint8Array[] = [];
  let length = 0;
  const step = async (): Promise<boolean> => {
    const { done, value } = await reader.read();
    if (value) pieces.push(value);
    length += value?.length ?? 0;
    return !done;
  };
  while (length < count && (await step()));
  return {
    async rest() {
      while (await step());
      return new Uint8Array(await new Blob(pieces as Bytes[]).arrayBuffer());
    },
  };
}

/** Compares two arrays and reports the first difference instead of printing them. */
export function sameBytes(actual: Uint8Array, expected: Uint8Array, what = 'bytes'): void {
  if (actual.length !== expected.length) {
    throw new Error(`${what}: ${actual.length} bytes instead of ${expected.length}`);
  }
  for (let i = 0; i < actual.length; i++) {
    if (actual[i] !== expected[i]) throw new Error(`${what}: they differ at byte ${i}`);
  }
}

export async function sha256(bytes: Bytes): Promise<string> {
  return toHex(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)));
}
