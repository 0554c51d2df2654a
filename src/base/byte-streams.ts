/** TypeScript's types of browsers do not know `ReadableStream.from` yet; every Node that we run on does. */
export function streamFrom<T extends Uint8Array>(chunks: AsyncIterable<T>): ReadableStream<T> {
  return (ReadableStream as unknown as { from: typeof streamFrom }).from(chunks);
}

/** The whole body as bytes. */
export async function readBytes(body: Uint8Array | ReadableStream<Uint8Array>): Promise<Uint8Array> {
  if (body instanceof Uint8Array) return body;
  return new Uint8Array(await new Response(body as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer());
}

/** Reads a body to its end and keeps none of it: whatever is wrong with it is thrown. */
export async function readOut(body: Uint8Array | ReadableStream<Uint8Array>): Promise<void> {
  if (body instanceof Uint8Array) return;
  const reader = body.getReader();
  while (!(await reader.read()).done);
}

type Next = ReadableStreamReadResult<Uint8Array>;

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
  const reader = body.getReader();
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
