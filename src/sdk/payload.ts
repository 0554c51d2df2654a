import { RelayError } from '../base/errors.ts';
import { PAYLOAD_BYTES } from '../base/limits.ts';
import { encodeUtf8 } from '../base/utf8.ts';
import type { MatcherFactory } from '../text/parts/grep.ts';
import type { PushData } from './options.ts';
import { collect, readThrough } from './streams.ts';

export interface Payload {
  readonly body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
  /** What the data says of itself. */
  readonly contentType: string | undefined;
}

/** `limit` is in bytes; what is larger is refused before, or while, it is sent. */
export async function payloadOf(data: PushData, limit: number): Promise<Payload> {
  if (typeof data === 'string') return { body: checked(encodeUtf8(data), limit), contentType: TEXT };
  if (isStream(data)) return { body: limited(data, limit), contentType: undefined };
  if (data instanceof ArrayBuffer)
    return { body: checked(new Uint8Array(data), limit), contentType: undefined };
  if (ArrayBuffer.isView(data)) {
    const view = new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength);
    return { body: checked(view, limit), contentType: undefined };
  }
  if (typeof Blob !== 'undefined' && data instanceof Blob) {
    if (data.size > limit) throw tooLarge();
    return {
      body: checked(new Uint8Array(await data.arrayBuffer()), limit),
      contentType: data.type || undefined,
    };
  }
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

function isStream(data: unknown): data is ReadableStream<Uint8Array> {
  return typeof ReadableStream !== 'undefined' && data instanceof ReadableStream;
}

function tooLarge(): RelayError {
  return new RelayError('too_large', { what: 'a payload', limit: PAYLOAD_BYTES });
}
