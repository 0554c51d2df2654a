import { badRequest, RelayError, tooLarge } from '../base/errors.ts';
import type { Json } from '../base/json.ts';
import { PAGE_ITEMS, PAGE_ITEMS_MAX, STORE_KEY_BYTES } from '../base/limits.ts';
import { utf8Bytes } from '../base/utf8.ts';
import type { BlobBody, ByteRange, Expiry } from './blobs.ts';

/** What every engine refuses alike, so that code which works on one works on all. */

/** A key, a stream's name or an entry's id: not empty, at most 2 KiB of UTF-8, no unpaired surrogate, no NUL. */
export function checkKey(what: string, key: string): void {
  if (key === '') throw badRequest(`${what} must not be empty`);
  checkPrefix(what, key);
}

/** The prefix of a listing or the scope of a search: what shards by the first segment can answer. */
export function checkScope(what: string, prefix: string): void {
  checkPrefix(what, prefix);
  if (!prefix.includes('/')) throw badRequest(`${what} must hold the whole first segment, with its slash`);
}

/** A prefix that may also be empty. */
export function checkPrefix(what: string, text: string): void {
  if (!text.isWellFormed()) throw badRequest(`${what} has an unpaired surrogate`);
  if (text.includes('\0')) throw badRequest(`${what} must not hold a NUL`);
  if (utf8Exceeds(text, STORE_KEY_BYTES)) throw tooLarge(what, STORE_KEY_BYTES);
}

/** How many to give at most; more than a page holds is refused, not cut. */
export function checkLimit(limit: number | undefined): number {
  if (limit === undefined) return PAGE_ITEMS;
  if (Number.isInteger(limit) && limit >= 1 && limit <= PAGE_ITEMS_MAX) return limit;
  throw badRequest(`a limit is a whole number from 1 to ${PAGE_ITEMS_MAX}`);
}

/** An expiry is a moment in ms; NaN and Infinity would never come or always have been. */
export function checkExpiry(expiresAt: number | undefined): void {
  if (expiresAt !== undefined && !Number.isFinite(expiresAt)) {
    throw badRequest('expiresAt is not a moment in time');
  }
}

/** The moment itself, asked for where it was to be told later. */
export async function resolveExpiry(expiry: Expiry | undefined): Promise<number | undefined> {
  const expiresAt = typeof expiry === 'function' ? await expiry() : expiry;
  checkExpiry(expiresAt);
  return expiresAt;
}

export function checkDelta(delta: number): void {
  if (!Number.isSafeInteger(delta)) throw badRequest('a counter takes whole numbers only');
}

/** What a counter comes to, or null where that would pass `max` or fall below 0. */
export function addToCounter(counter: Json, delta: number, max: number | undefined): number | null {
  if (!Number.isSafeInteger(counter)) throw badRequest('that is no counter');
  const sum = (counter as number) + delta;
  checkDelta(sum);
  return sum < 0 || (max !== undefined && sum > max) ? null : sum;
}

/** A range that reaches beyond the blob is refused, not cut. */
export function checkRange(range: ByteRange, size: number): void {
  const { start, end } = range;
  if (Number.isInteger(start) && Number.isInteger(end) && start >= 0 && start <= end && end <= size) return;
  throw new RelayError('range_not_satisfiable', { size });
}

/** What a reader asked for, cut off at the end of what there is; refused where there is nothing of it. */
export function cutRange(range: ByteRange, size: number): ByteRange {
  if (range.start < 0 || range.start >= size || range.end <= range.start) {
    throw new RelayError('range_not_satisfiable', { size });
  }
  return { start: range.start, end: Math.min(range.end, size) };
}

/** The JSON text of a value that takes at most `limit` bytes. */
export function encodeJson(what: string, value: Json, limit: number): string {
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined) throw badRequest(`${what} is not JSON`);
  if (utf8Exceeds(text, limit)) throw tooLarge(what, limit);
  return text;
}

/** Key order is that of the UTF-8 bytes; JavaScript's own puts emoji before U+E000 to U+FFFF. */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return rank(x) - rank(y);
  }
  return a.length - b.length;
}

/** Moves surrogates, which stand for code points above U+FFFF, behind every other unit. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/**
 * The least value behind every text that begins with the prefix, in the order of UTF-8 bytes, which is SQLite's.
 * Where there is no such text it is an empty blob, which SQLite sorts behind all text.
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

/** A body that comes whole is hashed and written in slices of this, so that neither blocks the loop for long. */
const SLICE_BYTES = 256 * 1024;

export interface BodyLimits {
  /** What the caller promised. */
  readonly size: number | undefined;
  /** What the engine takes. */
  readonly max: number;
}

/** Refuses ahead what the promise alone, or the length of a whole body, shows to be wrong. */
export function checkSize(body: BlobBody, { size, max }: BodyLimits): void {
  const length = body instanceof Uint8Array ? body.length : undefined;
  if (Math.max(length ?? 0, size ?? 0) > max) throw tooLarge('a blob', max);
  if (length !== undefined && size !== undefined && length !== size) throw wrongSize(size, length);
}

/**
 * The pieces of a body as they come. Stops with an error as soon as there are more bytes than promised or allowed,
 * and then, or when it is left early, tells the producer.
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
    // The source is not needed any more; a failure to close it changes nothing.
    if (!ended) await reader.cancel().catch(() => {});
    reader.releaseLock();
  }
}

function wrongSize(promised: number, found: number): RelayError {
  return badRequest(
    `the body was announced with ${promised} bytes but has ${found > promised ? 'more' : found}`,
  );
}

/** A listing as a condition on `key` that an index answers, from where it begins to where it ends. */
export interface KeyRange {
  readonly where: 'key > ? AND key < ?' | 'key >= ? AND key < ?';
  readonly from: string;
  readonly to: string | Uint8Array;
}

/** The keys that begin with the prefix and come behind `after`. */
export function keyRange(prefix: string, after: string | undefined): KeyRange {
  const to = prefixUpperBound(prefix);
  return after !== undefined && compareKeys(after, prefix) >= 0
    ? { where: 'key > ? AND key < ?', from: after, to }
    : { where: 'key >= ? AND key < ?', from: prefix, to };
}
