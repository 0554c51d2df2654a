import { concatBytes, readThrough } from '../base/byte-streams.ts';
import { RelayError } from '../base/errors.ts';
import { PAYLOAD_BYTES } from '../base/limits.ts';
import { encodeUtf8 } from '../base/utf8.ts';
import type { MatcherFactory } from '../text/parts/grep.ts';
import type { PushData } from './options.ts';

export interface Payload {
  readonly body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
  /** Media type of the data: `text/plain; charset=utf-8` for a string, or the type of a Blob. */
  readonly contentType: string | undefined;
}

/**
 * Converts push data to bytes or a stream. Throws `too_large` if the data has more than `limit` bytes. A
 * stream that is too long fails while it is read.
 */
export async function toPayload(data: PushData, limit: number): Promise<Payload> {
  if (data instanceof Blob && data.size > limit) throw tooLarge();
  const body = await toBody(data);
  const contentType = typeof data === 'string' ? TEXT : blobType(data);
  return {
    body: body instanceof Uint8Array ? checkSize(body, limit) : limitStream(body, limit),
    contentType,
  };
}

/** Returns the media type of a Blob. Returns undefined for other data, or a Blob without a type. */
export function blobType(data: PushData): string | undefined {
  return (data instanceof Blob && data.type) || undefined;
}

/** Converts the data to bytes. Returns a stream unchanged. */
export async function toBody(data: PushData): Promise<Payload['body']> {
  if (typeof data === 'string') return encodeUtf8(data);
  if (data instanceof ReadableStream) return data;
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  if (ArrayBuffer.isView(data)) {
    return new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength);
  }
  if (data instanceof Blob) return new Uint8Array(await data.arrayBuffer());
  throw new RelayError('bad_request', {
    what: 'A payload must be a string, bytes, a Blob or a ReadableStream of bytes.',
    hint: 'Turn an object into text with JSON.stringify first.',
  });
}

/** Reads the whole payload into memory. Throws if it is empty or too large. */
export async function readPayload(body: Payload['body']): Promise<Uint8Array<ArrayBuffer>> {
  const whole = await collect(body, { bytes: PAYLOAD_BYTES, what: 'a payload' });
  if (whole.byteLength === 0) throw new RelayError('empty_payload');
  return whole;
}

/**
 * Compiles a pattern with the RegExp of the platform. A pattern may be slow here, because it runs on the
 * machine of the user who wrote it.
 */
export const nativeMatcher: MatcherFactory = (pattern, { ignoreCase }) => {
  const flags = ignoreCase ? 'i' : '';
  try {
    return new RegExp(pattern, `u${flags}`);
  } catch {
    // Many patterns contain escapes that RegExp rejects in Unicode mode. So try again without this mode.
    return new RegExp(pattern, flags);
  }
};

const TEXT = 'text/plain; charset=utf-8';

function checkSize(bytes: Uint8Array<ArrayBuffer>, limit: number): Uint8Array<ArrayBuffer> {
  if (bytes.byteLength === 0) throw new RelayError('empty_payload');
  if (bytes.byteLength > limit) throw tooLarge();
  return bytes;
}

function limitStream(stream: ReadableStream<Uint8Array>, limit: number): ReadableStream<Uint8Array> {
  let size = 0;
  return readThrough(stream, async (read) => {
    const next = await read();
    if (next.done) return next;
    if (!(next.value instanceof Uint8Array)) {
      throw new RelayError('bad_request', {
        what: 'A stream to push must contain bytes (Uint8Array), and this one contains something else.',
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

/** Reads the whole body into memory. Throws `too_large` as soon as it exceeds the limit. */
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
  // Some browsers cannot iterate a stream with `for await`.
  const reader = body.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    size += next.value.byteLength;
    if (size > limit.bytes) {
      // Ignore a failure to cancel. The caller must get the `too_large` error instead.
      await reader.cancel().catch(() => {});
      throw refuse();
    }
    chunks.push(next.value);
  }
  return concatBytes(chunks);
}

/** Returns the body as a stream. */
export function toStream(body: Uint8Array | ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  return body instanceof Uint8Array ? new Response(body as Uint8Array<ArrayBuffer>).body! : body;
}

/** Cancels a stream that is not needed. Ignores errors of a stream that is already broken. */
export async function discardBody(body: Uint8Array | ReadableStream<Uint8Array> | null): Promise<void> {
  if (body && !(body instanceof Uint8Array)) await body.cancel().catch(() => {});
}
