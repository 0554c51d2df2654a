import { joined } from '../base/byte-streams.ts';
import { RelayError } from '../base/errors.ts';

/*
 * Readers are asked by hand and not with `for await`: not every browser can iterate a stream.
 */

/** The whole stream in one piece, or `too_large` as soon as it passes the limit. */
export async function collect(
  body: Uint8Array | ReadableStream<Uint8Array>,
  limit: { bytes: number; what: string },
): Promise<Uint8Array<ArrayBuffer>> {
  const refuse = () => new RelayError('too_large', { what: limit.what, limit: limit.bytes });
  if (body instanceof Uint8Array) {
    if (body.byteLength > limit.bytes) throw refuse();
    return body as Uint8Array<ArrayBuffer>;
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = body.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    size += next.value.byteLength;
    if (size > limit.bytes) {
      await reader.cancel().catch(() => {});
      throw refuse();
    }
    chunks.push(next.value);
  }
  return joined(chunks);
}

export function streamOf(body: Uint8Array | ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  return body instanceof Uint8Array ? new Response(body as Uint8Array<ArrayBuffer>).body! : body;
}

export async function letGo(body: Uint8Array | ReadableStream<Uint8Array> | null): Promise<void> {
  if (body && !(body instanceof Uint8Array)) await body.cancel().catch(() => {});
}
