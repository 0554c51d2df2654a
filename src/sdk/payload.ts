import { joined, readThrough } from '../base/byte-streams.ts';
import { RelayError } from '../base/errors.ts';
import { PAYLOAD_BYTES } from '../base/limits.ts';
import { encodeUtf8 } from '../base/utf8.ts';
import type { MatcherFactory } from '../text/parts/grep.ts';
import type { PushData } from './options.ts';

export interface Payload {
  readonly body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
  /** What the data says of itself. */
  readonly contentType: string | undefined;
}

/** `limit` is in bytes; what is larger is refused before, or while, it is sent. */
export async function payloadOf(data: PushData, limit: number): Promise<Payload> {
  if (data instanceof Blob && data.size > limit) throw tooLarge();
  const body = await bodyOf(data);
  const contentType = typeof data === 'string' ? TEXT : blobType(data);
  return { body: body instanceof Uint8Array ? checked(body, limit) : limited(body, limit), contentType };
}

/** The type of a Blob, where it has one. */
export function blobType(data: PushData): string | undefined {
  return (data instanceof Blob && data.type) || undefined;
}

/** The bytes of what was handed in, or the stream itself. */
export async function bodyOf(data: PushData): Promise<Payload['body']> {
  if (typeof data === 'string') return encodeUtf8(data);
  if (data instanceof ReadableStream) return data;
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  if (ArrayBuffer.isView(data)) {
    return new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength);
  }
  if (data instanceof Blob) return new Uint8Array(await data.arrayBuffer());
  throw new RelayError('bad_request', {
    what: 'A payload is text, bytes, a Blob or a ReadableStream of bytes.',
    hint: 'Turn an object into text with JSON.stringify first.',
  });
}

export async function wholePayload(body: Payload['body']): Promise<Uint8Array<ArrayBuffer>> {
  const whole = await collect(body, { bytes: PAYLOAD_BYTES, what: 'a payload' });
  if (whole.byteLength === 0) throw new RelayError('empty_payload');
  return whole;
}

/** The platform's own regular expressions: here the pattern, the payload and the machine belong to the same person. */
export const nativeMatcher: MatcherFactory = (pattern, { ignoreCase }) => {
  const flags = ignoreCase ? 'i' : '';
  try {
    return new RegExp(pattern, `u${flags}`);
  } catch {
    // Many patterns escape more than strict Unicode mode allows.
    return new RegExp(pattern, flags);
  }
};

const TEXT = 'text/plain; charset=utf-8';

function checked(bytes: Uint8Array<ArrayBuffer>, limit: number): Uint8Array<ArrayBuffer> {
  if (bytes.byteLength === 0) throw new RelayError('empty_payload');
  if (bytes.byteLength > limit) throw tooLarge();
  return bytes;
}

function limited(stream: ReadableStream<Uint8Array>, limit: number): ReadableStream<Uint8Array> {
  let size = 0;
  return readThrough(stream, async (read) => {
    const next = await read();
    if (next.done) return next;
    if (!(next.value instanceof Uint8Array)) {
      throw new RelayError('bad_request', {
        what: 'A stream that is pushed gives bytes, and this one gave something else.',
        hint: 'Pipe text through a TextEncoderStream first.',
      });
    }
    size += next.value.byteLength;
    if (size > limit) throw tooLarge();
    return next;
  });
}

function tooLarge(): RelayError {
  return new RelayError('too_large', { what: 'a payload', limit: PAYLOAD_BYTES });
}

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
      // The refusal is what the caller hears, however the stream ends.
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

/** Ends a stream that nobody reads. That it is broken already is no news then. */
export async function letGo(body: Uint8Array | ReadableStream<Uint8Array> | null): Promise<void> {
  if (body && !(body instanceof Uint8Array)) await body.cancel().catch(() => {});
}
