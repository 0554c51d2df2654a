import { RelayError } from '../../base/errors.ts';
import type { BlobBody } from '../../kernel/blobs.ts';

/** A body that comes whole is hashed and written in slices of this, so that neither blocks the loop for long. */
const SLICE_BYTES = 256 * 1024;

export interface Admission {
  /** What the caller promised. */
  readonly size: number | undefined;
  /** What the engine takes. */
  readonly max: number;
}

/** Refuses ahead what the promise alone, or the length of a whole body, shows to be wrong. */
export function checkSize(body: BlobBody, { size, max }: Admission): void {
  const length = body instanceof Uint8Array ? body.length : undefined;
  if (Math.max(length ?? 0, size ?? 0) > max) throw tooLarge(max);
  if (length !== undefined && size !== undefined && length !== size) throw wrongSize(size, length);
}

/**
 * The pieces of a body as they come. Stops with an error as soon as there are more bytes than promised or allowed,
 * and then, or when it is left early, tells the producer.
 */
export async function* intake(body: BlobBody, o: Admission): AsyncGenerator<Uint8Array, void, void> {
  if (body instanceof Uint8Array) {
    for (let at = 0; at < body.length; at += SLICE_BYTES) yield body.subarray(at, at + SLICE_BYTES);
    return;
  }
  const reader = body.getReader();
  let length = 0;
  let ended = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      length += value.length;
      if (length > o.max) throw tooLarge(o.max);
      if (o.size !== undefined && length > o.size) throw wrongSize(o.size, length);
      if (value.length > 0) yield value;
    }
    ended = true;
    if (o.size !== undefined && length !== o.size) throw wrongSize(o.size, length);
  } finally {
    if (!ended) await reader.cancel().catch(() => {});
    reader.releaseLock();
  }
}

function tooLarge(limit: number): RelayError {
  return new RelayError('too_large', { what: 'a blob', limit });
}

function wrongSize(promised: number, found: number): RelayError {
  return new RelayError('bad_request', {
    what: `the body was announced with ${promised} bytes but has ${found > promised ? 'more' : found}`,
  });
}
