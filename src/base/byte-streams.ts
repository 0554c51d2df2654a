/**
 * `ReadableStream.from` with a type. All supported Node versions have this function, but TypeScript's browser
 * types lack it.
 */
export function streamFrom<T extends Uint8Array>(chunks: AsyncIterable<T>): ReadableStream<T> {
  return (ReadableStream as unknown as { from: typeof streamFrom }).from(chunks);
}

/** Reads the whole body into memory. */
export async function readBytes(body: Uint8Array | ReadableStream<Uint8Array>): Promise<Uint8Array> {
  if (body instanceof Uint8Array) return body;
  return new Uint8Array(await new Response(body as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer());
}

/** Concatenates byte arrays into `bytes`, or into a new array. */
export function concatBytes(
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

/** Returns several bodies as one stream. Opens each body after the previous one has been read. */
export function joinBodies(
  opens: readonly (() => Promise<Uint8Array | ReadableStream<Uint8Array>>)[],
): ReadableStream<Uint8Array> {
  const unopened = [...opens];
  let reader: ReturnType<typeof readerOf> | null = null;
  return new ReadableStream({
    async pull(controller) {
      for (;;) {
        const next = await reader?.read();
        if (next && !next.done) return controller.enqueue(next.value);
        const body = await unopened.shift()?.();
        if (body === undefined) return controller.close();
        if (body instanceof Uint8Array) return controller.enqueue(body);
        reader = readerOf(body);
      }
    },
    cancel: (reason) => reader?.cancel(reason),
  });
}

/** Returns a text as UTF-8 and replaces invalid bytes by U+FFFD. */
export function replaceInvalid(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const encoder = new TextEncoder();
  return body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, out) => out.enqueue(encoder.encode(decoder.decode(chunk, { stream: true }))),
      flush: (out) => out.enqueue(encoder.encode(decoder.decode())),
    }),
  );
}

/** Reads a body to its end and discards it. Throws if reading fails. */
export async function readOut(body: Uint8Array | ReadableStream<Uint8Array>): Promise<void> {
  if (body instanceof Uint8Array) return;
  const reader = body.getReader();
  while (!(await reader.read()).done);
}

type Next = ReadableStreamReadResult<Uint8Array>;

/** Default number of bytes that one read from a stream returns in a Worker. */
const PIECE_BYTES = 64 * 1024;

/** A reader that only Workers have. It fills a buffer with at least the given number of bytes. */
interface FillingReader extends Pick<ReadableStreamBYOBReader, 'cancel'> {
  readAtLeast(bytes: number, into: Uint8Array): Promise<{ done: boolean; value?: Uint8Array }>;
}
const canFill = 'readAtLeast' in (globalThis.ReadableStreamBYOBReader?.prototype ?? {});

/**
 * Returns a reader for a body. Workers read a stream in chunks of 4 KB by default; there, the reader passes a larger
 * buffer to get larger chunks. On other platforms the chunks keep their size.
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
    // The stream was created in JavaScript and does not support buffers.
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

/**
 * Reads a body of up to `limit` bytes into memory and returns the bytes. Returns a longer body as a stream.
 */
export async function readBeginning(
  source: ReadableStream<Uint8Array>,
  limit: number,
): Promise<Uint8Array | ReadableStream<Uint8Array>> {
  const reader = source.getReader();
  const pieces: Uint8Array[] = [];
  for (let size = 0; size <= limit; ) {
    const { done, value } = await reader.read();
    if (done) return concatBytes(pieces);
    pieces.push(value);
    size += value.length;
  }
  return new ReadableStream({
    async pull(stream) {
      const next = pieces.shift() ?? (await reader.read()).value;
      if (next) stream.enqueue(next);
      else stream.close();
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/**
 * Returns a stream that calls `read` for each chunk and does not read ahead. If `read` throws, the source is
 * cancelled. `onEnd` is called when the stream ends, fails or is cancelled. Does not use `for await`, because not
 * every browser can iterate a stream.
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
          // Ignore a failure to cancel the source, because it would hide the first error.
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

/** Returns the stream unchanged, but fails with the error of `refuse` after more than `most` bytes. */
export function limitBytes(
  source: ReadableStream<Uint8Array>,
  most: number,
  refuse: () => Error,
): ReadableStream<Uint8Array> {
  let size = 0;
  return readThrough(source, async (next) => {
    const read = await next();
    size += read.value?.byteLength ?? 0;
    if (size > most) throw refuse();
    return read;
  });
}

/**
 * Returns the stream unchanged and counts its bytes. Calls `onEnd` once with the count when the stream ends, fails or
 * is cancelled, but only if something was read.
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
