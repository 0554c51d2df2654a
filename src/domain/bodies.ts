import { readThrough } from '../base/byte-streams.ts';
import { badRequest, isRelayError, RelayError, tooLarge } from '../base/errors.ts';
import { isJsonObject, isTooDeep, type Json, type JsonObject } from '../base/json.ts';
import { JSON_DEPTH, METADATA_BYTES, maxStoredBytes, PAYLOAD_BYTES } from '../base/limits.ts';
import { isUtf8, Utf8Check } from '../base/utf8.ts';
import type { BlobBody } from '../kernel/blobs.ts';

/**
 * A body that is being stored. While the body is read, it is rejected if it exceeds the size limit, and its
 * bytes are checked for valid UTF-8.
 */
export interface MeteredBody {
  readonly body: BlobBody;
  /** Returns whether the whole body is valid UTF-8. Call it only after the body has been read to its end. */
  isText(): boolean;
}

/** Kind of a body. An empty payload is rejected; a file may be empty. */
type Kind = 'a payload' | 'a file';

export function meterBody(
  body: BlobBody,
  declaredSize?: number,
  payloadBytes = PAYLOAD_BYTES,
  kind: Kind = 'a payload',
): MeteredBody {
  if (declaredSize !== undefined && declaredSize > maxStoredBytes(payloadBytes))
    throw tooLarge(kind, payloadBytes);
  return body instanceof Uint8Array
    ? meterBytes(body, payloadBytes, kind)
    : meterStream(body, payloadBytes, kind);
}

function meterBytes(bytes: Uint8Array, payloadBytes: number, kind: Kind): MeteredBody {
  checkEmpty(bytes.byteLength, kind);
  const limit = limitFor(bytes, payloadBytes);
  if (bytes.byteLength > limit) throw tooLarge(kind, limit);
  return { body: bytes, isText: () => isUtf8(bytes) };
}

function meterStream(source: ReadableStream<Uint8Array>, payloadBytes: number, kind: Kind): MeteredBody {
  const utf8 = new Utf8Check();
  const start: number[] = [];
  let size = 0;
  let text = true;
  const body = readThrough(source, async (next) => {
    const read = await next().catch(cutOff);
    if (read.done) {
      checkEmpty(size, kind);
      text = utf8.end();
      return read;
    }
    const { value } = read;
    // Collect the first bytes from as many chunks as needed: the network may split the body anywhere, even inside the
    // first bytes of a Fernet token.
    if (start.length < FERNET_START.length)
      start.push(...value.subarray(0, FERNET_START.length - start.length));
    size += value.byteLength;
    const limit = limitFor(start, payloadBytes);
    if (size > limit) throw tooLarge(kind, limit);
    utf8.push(value);
    return read;
  });
  return { body, isText: () => text };
}

function checkEmpty(size: number, kind: Kind): void {
  if (size === 0 && kind === 'a payload') throw new RelayError('empty_payload');
}

/** Converts an error of the source into `aborted`: a sender that disconnects is not an internal error of the relay. */
function cutOff(error: unknown): never {
  if (isRelayError(error)) throw error;
  throw new RelayError(
    'aborted',
    {
      what: 'the connection ended before the whole payload arrived',
      hint: 'Nothing was stored. Try again.',
    },
    error,
  );
}

/** `gAAAAA` in ASCII, the start of every Fernet token. */
const FERNET_START = [0x67, 0x41, 0x41, 0x41, 0x41, 0x41];

/**
 * Returns the size limit of a body in bytes. The limit of a Fernet token is higher, because a token is the
 * encrypted text in base64 and longer than the plain text.
 */
function limitFor(start: ArrayLike<number>, payloadBytes: number): number {
  return FERNET_START.every((byte, i) => start[i] === byte) ? maxStoredBytes(payloadBytes) : payloadBytes;
}

/** Checks the metadata of a body. Returns `{}` if the metadata is undefined or null. */
export function checkMetadata(metadata: unknown, limit = METADATA_BYTES): JsonObject {
  if (metadata === undefined || metadata === null) return {};
  if (!isJsonObject(metadata)) throw wrong('metadata', 'an object', metadata);
  if (isTooDeep(metadata as Json)) {
    throw badRequest(`"metadata" is nested more than ${JSON_DEPTH} levels deep.`);
  }
  const bytes = new TextEncoder().encode(JSON.stringify(metadata)).byteLength;
  if (bytes > limit) throw tooLarge('metadata', limit);
  return metadata;
}

export function shortText(name: string, value: unknown, max: number): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== 'string') throw wrong(name, 'a string', value);
  if (value.length > max) throw badRequest(`"${name}" is longer than ${max} characters.`);
  if (/[\u0000-\u001f\u007f]/.test(value)) throw badRequest(`"${name}" contains a control character.`);
  return value;
}

export function wrong(name: string, expected: string, value: unknown): RelayError {
  const kind = value === null ? 'null' : Array.isArray(value) ? 'an array' : `a ${typeof value}`;
  return badRequest(`"${name}" must be ${expected}, not ${kind}.`);
}
