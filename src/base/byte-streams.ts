/** TypeScript's types of browsers do not know `ReadableStream.from` yet; every Node that we run on does. */
export function streamFrom<T extends Uint8Array>(chunks: AsyncIterable<T>): ReadableStream<T> {
  return (ReadableStream as unknown as { from: typeof streamFrom }).from(chunks);
}

/** The whole body as bytes. */
export async function readBytes(body: Uint8Array | ReadableStream<Uint8Array>): Promise<Uint8Array> {
  if (body instanceof Uint8Array) return body;
  return new Uint8Array(await new Response(body as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer());
}
