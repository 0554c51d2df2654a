import { badRequest, RelayError, tooLarge } from '../base/errors.ts';
import type { Json } from '../base/json.ts';
import { PAGE_ITEMS, PAGE_ITEMS_MAX, STORE_KEY_BYTES } from '../base/limits.ts';
import { utf8Bytes } from '../base/utf8.ts';
import type { BlobBody, ByteRange, Expiry } from './blobs.ts';

/** Input checks and key comparison that engines share. Code that works on one engine then works on all of them. */

/**
 * Rejects an invalid key, stream name or entry id. It must have 1 to 2048 bytes of UTF-8, without unpaired
 * surrogates or NUL.
 */
export function checkKey(what: string, key: string): void {
  if (key === '') throw badRequest(`${what} must not be empty`);
  checkPrefix(what, key);
}

/**
 * Rejects a prefix without a complete first segment. Engines shard by the first segment, so a listing or search must
 * name it.
 */
export function checkScope(what: string, prefix: string): void {
  checkPrefix(what, prefix);
  if (!prefix.includes('/'))
    throw badRequest(`${what} must begin with a whole first segment, such as "threads/"`);
}

/** Rejects an invalid prefix. It follows the rules for keys but may be empty. */
export function checkPrefix(what: string, text: string): void {
  if (!text.isWellFormed()) throw badRequest(`${what} has an unpaired surrogate`);
  if (text.includes('\0')) throw badRequest(`${what} must not contain a NUL character`);
  if (utf8Exceeds(text, STORE_KEY_BYTES)) throw tooLarge(what, STORE_KEY_BYTES);
}

/** Returns the sequence number after which to read, 0 by default. */
export function checkAfter(after = 0): number {
  if (Number.isSafeInteger(after)) return after;
  throw badRequest('a sequence number must be a whole number');
}

/** Returns the page size. Rejects a limit above the maximum instead of reducing it. */
export function checkLimit(limit: number | undefined): number {
  if (limit === undefined) return PAGE_ITEMS;
  if (Number.isInteger(limit) && limit >= 1 && limit <= PAGE_ITEMS_MAX) return limit;
  throw badRequest(`a limit must be a whole number from 1 to ${PAGE_ITEMS_MAX}`);
}

/** Rejects NaN and Infinity. Compared with them, a record would never expire or would be expired immediately. */
export function checkExpiry(expiresAt: number | undefined): void {
  if (expiresAt !== undefined && !Number.isFinite(expiresAt)) {
    throw badRequest('expiresAt must be a finite number of milliseconds');
  }
}

/** Returns the expiry time. If the expiry is a function, calls it. */
export async function resolveExpiry(expiry: Expiry | undefined): Promise<number | undefined> {
  const expiresAt = typeof expiry === 'function' ? await expiry() : expiry;
  checkExpiry(expiresAt);
  return expiresAt;
}

/** Rejects a delta that is not a safe integer. */
export function checkDelta(delta: number): void {
  if (!Number.isSafeInteger(delta)) throw badRequest('a counter accepts only whole numbers');
}

/** Returns the new value of a counter, or null if it would be above `max` or below 0. */
export function addToCounter(counter: Json, delta: number, max: number | undefined): number | null {
  if (!Number.isSafeInteger(counter)) throw badRequest('the record is not a counter');
  const sum = (counter as number) + delta;
  checkDelta(sum);
  return sum < 0 || (max !== undefined && sum > max) ? null : sum;
}

/** Rejects a range that is not inside the blob. */
export function checkRange(range: ByteRange, size: number): void {
  const { start, end } = range;
  if (Number.isInteger(start) && Number.isInteger(end) && start >= 0 && start <= end && end <= size) return;
  throw new RelayError('range_not_satisfiable', { size });
}

/** Ends a range at the end of the content. Rejects a range that contains no byte of the content. */
export function cutRange(range: ByteRange, size: number): ByteRange {
  if (range.start < 0 || range.start >= size || range.end <= range.start) {
    throw new RelayError('range_not_satisfiable', { size });
  }
  return { start: range.start, end: Math.min(range.end, size) };
}

/** Returns a value as JSON text. Rejects it if the text is longer than `limit` bytes. */
export function encodeJson(what: string, value: Json, limit: number): string {
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined) throw badRequest(`${what} is not JSON`);
  if (utf8Exceeds(text, limit)) throw tooLarge(what, limit);
  return text;
}

/**
 * Compares keys by their UTF-8 bytes. The operators of JavaScript compare UTF-16 code units, which would sort
 * emoji before the characters from U+E000 to U+FFFF.
 */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return rank(x) - rank(y);
  }
  return a.length - b.length;
}

/** Ranks surrogates, which encode code points above U+FFFF, after all other code units. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/**
 * Returns the smallest value that sorts after every text with the prefix, in SQLite's order (UTF-8 bytes). If no text
 * sorts after all texts with the prefix, returns an empty blob, because SQLite sorts blobs after all text.
 */
export function prefixUpperBound(prefix: string): string | Uint8Array {
  const points = Array.from(prefix, (char) => char.codePointAt(0)!);
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    if (last < 0x10ffff) return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1);
  }
  return new Uint8Array();
}

function utf8Exceeds(text: string, limit: number): boolean {
  if (text.length > limit) return true;
  if (text.length * 3 <= limit) return false;
  return utf8Bytes(text) > limit;
}

/**
 * Size in bytes of the slices in which an array is processed, so that hashing a large body does not block the event
 * loop for long.
 */
const SLICE_BYTES = 256 * 1024;

/** Limits for the size of a body. */
export interface BodyLimits {
  /** Size that the caller announced, in bytes. */
  readonly size: number | undefined;
  /** Largest body that the engine accepts, in bytes. */
  readonly max: number;
}

/**
 * Rejects a body that is too large or does not have the announced size. For a stream, checks only the announced size.
 */
export function checkSize(body: BlobBody, { size, max }: BodyLimits): void {
  const length = body instanceof Uint8Array ? body.length : undefined;
  if (Math.max(length ?? 0, size ?? 0) > max) throw tooLarge('a blob', max);
  if (length !== undefined && size !== undefined && length !== size) throw wrongSize(size, length);
}

/**
 * Yields the body in pieces. Throws as soon as the body has more bytes than announced or allowed. Cancels a stream on
 * an error, or if the consumer stops early.
 */
export async function* readPieces(body: BlobBody, o: BodyLimits): AsyncGenerator<Uint8Array, void, void> {
  if (body instanceof Uint8Array) {
    for (let at = 0; at < body.length; at += SLICE_BYTES) yield body.subarray(at, at + SLICE_BYTES);
    return;
  }
  const reader = body.getReader();
  let length = 0;
  let ended = false;
  try {
    checkSize(body, o);
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      length += value.length;
      if (length > o.max) throw tooLarge('a blob', o.max);
      if (o.size !== undefined && length > o.size) throw wrongSize(o.size, length);
      if (value.length > 0) yield value;
    }
    ended = true;
    if (o.size !== undefined && length !== o.size) throw wrongSize(o.size, length);
  } finally {
    // Ignore an error while cancelling the stream, because it would hide the first error.
    if (!ended) await reader.cancel().catch(() => {});
    reader.releaseLock();
  }
}

function wrongSize(announced: number, found: number): RelayError {
  return badRequest(
    `the announced size is ${announced} bytes but the body has ${found > announced ? 'more' : found}`,
  );
}

/** SQL condition on `key` for a listing, with its two bounds. SQLite can use the index on `key` for it. */
export interface KeyRange {
  readonly where: 'key > ? AND key < ?' | 'key >= ? AND key < ?';
  readonly from: string;
  readonly to: string | Uint8Array;
}

/** Returns the condition for keys that start with the prefix and sort after `after`. */
export function keyRange(prefix: string, after: string | undefined): KeyRange {
  const to = prefixUpperBound(prefix);
  return after !== undefined && compareKeys(after, prefix) >= 0
    ? { where: 'key > ? AND key < ?', from: after, to }
    : { where: 'key >= ? AND key < ?', from: prefix, to };
}
