import { isRelayError, RelayError } from '../../base/errors.ts';
import { PAYLOAD_BYTES, STORED_BYTES } from '../../base/limits.ts';
import type { BlobBody } from '../../kernel/blobs.ts';

/** A body on its way into the store: measured, cut off at the limit, and looked at for being text. */
export interface Intake {
  readonly body: BlobBody;
  /** Whether every byte so far was valid UTF-8; final once the body has been read. */
  isText(): boolean;
}

export function takeIn(body: BlobBody, declaredSize?: number): Intake {
  if (declaredSize !== undefined && declaredSize > STORED_BYTES) throw tooLarge(PAYLOAD_BYTES);
  return body instanceof Uint8Array ? whole(body) : streamed(body);
}

function whole(bytes: Uint8Array): Intake {
  if (bytes.byteLength === 0) throw new RelayError('empty_payload');
  const limit = limitFor(bytes);
  if (bytes.byteLength > limit) throw tooLarge(limit);
  return { body: bytes, isText: () => isUtf8(bytes) };
}

function streamed(source: ReadableStream<Uint8Array>): Intake {
  const reader = source.getReader();
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let size = 0;
  let limit = 0;
  let text = true;
  const decode = (chunk?: Uint8Array) => {
    if (!text) return;
    try {
      decoder.decode(chunk, { stream: chunk !== undefined });
    } catch {
      text = false;
    }
  };
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read().catch(cutOff);
      if (done) {
        if (size === 0) throw new RelayError('empty_payload');
        decode();
        controller.close();
        return;
      }
      if (size === 0) limit = limitFor(value);
      size += value.byteLength;
      if (size > limit) {
        const error = tooLarge(limit);
        reader.cancel(error).catch(() => {});
        throw error;
      }
      decode(value);
      controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return { body, isText: () => text };
}

/** A sender that went away is no fault of the relay's. */
function cutOff(error: unknown): never {
  if (isRelayError(error)) throw error;
  throw new RelayError('aborted', { what: 'the payload did not arrive whole' }, error);
}

/** A Fernet token (`gAAAAA…`) carries base64 of what the limit is meant for, so it may be larger by that much. */
function limitFor(start: Uint8Array): number {
  const fernet =
    start.byteLength >= 6 && start[0] === 0x67 && start.subarray(1, 6).every((byte) => byte === 0x41);
  return fernet ? STORED_BYTES : PAYLOAD_BYTES;
}

function tooLarge(limit: number): RelayError {
  return new RelayError('too_large', { what: 'a payload', limit });
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
