/** TypeScript's types of browsers do not know `ReadableStream.from` yet; every Node that we run on does. */
export function streamFrom<T extends Uint8Array>(chunks: AsyncIterable<T>): ReadableStream<T> {
  return (ReadableStream as unknown as { from: typeof streamFrom }).from(chunks);
}

/** The whole body as bytes. */
export async function readBytes(body: Uint8Array | ReadableStream<Uint8Array>): Promise<Uint8Array> {
  if (body instanceof Uint8Array) return body;
  return new Uint8Array(await new Response(body as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer());
}

/** One behind the other, in memory of their own by default. */
export function joined(
  pieces: readonly Uint8Array[],
  bytes = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0)),
): Uint8Array<ArrayBuffer> {
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

/** Reads a body to its end and keeps none of it: whatever is wrong with it is thrown. */
export async function readOut(body: Uint8Array | ReadableStream<Uint8Array>): Promise<void> {
  if (body instanceof Uint8Array) return;
  const reader = body.getReader();
  while (!(await reader.read()).done);
}

type Next = ReadableStreamReadResult<Uint8Array>;

/** What is read of a stream of a Worker at once, by default. */
const PIECE_BYTES = 64 * 1024;

/** A reader of Workers alone: it fills a buffer as far as it is told to. */
interface FillingReader extends Pick<ReadableStreamBYOBReader, 'cancel'> {
  readAtLeast(bytes: number, into: Uint8Array): Promise<{ done: boolean; value?: Uint8Array }>;
}
const canFill = 'readAtLeast' in (globalThis.ReadableStreamBYOBReader?.prototype ?? {});

/**
 * Reads a body piece by piece. A Worker's platform gives 4 KB of its streams at a time, each in a turn of its own, but to who brings a larger
 * buffer; elsewhere pieces come as they are.
 */
export function readerOf(
  body: ReadableStream<Uint8Array>,
  pieceBytes = PIECE_BYTES,
): {
  read(): Promise<Next>;
  cancel(reason?: unknown): Promise<void>;
} {
  if (!canFill) return body.getReader();
  let reader: FillingReader;
  try {
    reader = body.getReader({ mode: 'byob' }) as unknown as FillingReader;
  } catch {
    // It is none of the platform's.
    return body.getReader();
  }
  return {
    async read() {
      const { value } = await reader.readAtLeast(pieceBytes, new Uint8Array(pieceBytes));
      return value?.length ? { done: false, value } : { done: true, value: undefined };
    },
    cancel: (reason) => reader.cancel(reason),
  };
}

/** The whole of a body that is no longer than `limit`; a longer one is given on as a stream. */
export async function readBeginning(
  source: ReadableStream<Uint8Array>,
  limit: number,
): Promise<Uint8Array | ReadableStream<Uint8Array>> {
  const reader = source.getReader();
  const held: Uint8Array[] = [];
  for (let size = 0; size <= limit; ) {
    const { done, value } = await reader.read();
    if (done) return joined(held);
    held.push(value);
    size += value.length;
  }
  return new ReadableStream({
    async pull(stream) {
      const next = held.shift() ?? (await reader.read()).value;
      if (next) stream.enqueue(next);
      else stream.close();
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/**
 * The same stream, with each read made by `read`. Where that throws, the source is let go. Nothing is read ahead. `onEnd`
 * is called once the last byte was read, the stream failed, or its reader went away. The reader is asked by hand and not
 * with `for await`: not every browser can iterate a stream.
 */
export function readThrough(
  body: ReadableStream<Uint8Array>,
  read: (next: () => Promise<Next>) => Promise<Next>,
  onEnd = () => {},
): ReadableStream<Uint8Array> {
  const reader = readerOf(body);
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const next = await read(() => reader.read());
          if (!next.done) return controller.enqueue(next.value);
          onEnd();
          controller.close();
        } catch (error) {
          onEnd();
          // The first error is thrown; a failure to close the source adds nothing.
          reader.cancel(error).catch(() => {});
          throw error;
        }
      },
      cancel(reason) {
        onEnd();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/**
 * A body on its way out: the same bytes. Calls `onEnd` once with how many of them were read, at the end or when the reader
 * went away, and never for a stream of which nothing was read.
 */
export function countRead(
  source: ReadableStream<Uint8Array>,
  onEnd: (bytes: number) => void,
): ReadableStream<Uint8Array> {
  let bytes = 0;
  return readThrough(
    source,
    async (next) => {
      const read = await next();
      bytes += read.value?.byteLength ?? 0;
      return read;
    },
    () => {
      if (bytes > 0) onEnd(bytes);
    },
  );
}
