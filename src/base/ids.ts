import type { Env } from './env.ts';
import { badRequest } from './errors.ts';
import { IDEMPOTENCY_KEY_CHARS } from './limits.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return UUID.test(text);
}

export function uuid(env: Env): string {
  return uuidFrom(env.randomBytes(16));
}

/** Returns a version 4 UUID made from 16 bytes, which are random or derived from a hash. */
export function uuidFrom(bytes: Uint8Array): string {
  const b = bytes.slice(0, 16);
  b[6] = (b[6]! & 0x0f) | 0x40;
  b[8] = (b[8]! & 0x3f) | 0x80;
  const hex = toHex(b);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/**
 * Puts the mark of a store into a UUID, if the store has one. The mark is masked with the last digits of the id, so that
 * ids do not look alike. The version number becomes 8, so that an id with a mark differs from any other id.
 */
export function markedId(id: string, { idMark }: Pick<Env, 'idMark'>): string {
  return idMark === undefined ? id : `${maskedMark(idMark, id)}${id.slice(4, 14)}8${id.slice(15)}`;
}

/** Returns the mark in an id of `markedId`. Returns null for other ids. */
export function markIn(id: string): string | null {
  return id[14] === '8' ? maskedMark(id.slice(0, 4), id) : null;
}

/** Masks or unmasks four hexadecimal digits with the last four digits of an id. */
function maskedMark(mark: string, id: string): string {
  const mask = Number.parseInt(id.slice(-4), 16);
  return (Number.parseInt(mark, 16) ^ mask).toString(16).padStart(4, '0');
}

const DIGITS = '0123456789abcdef';

export function toHex(bytes: Uint8Array): string {
  let hex = '';
  for (const byte of bytes) hex += DIGITS[byte >> 4]! + DIGITS[byte & 15]!;
  return hex;
}

/** Pattern of an artifact reference: 26 hex digits, or 25 if a Go relay created the artifact. */
export const REF = '[0-9a-f]{25,26}';
const WHOLE_REF = new RegExp(`^${REF}$`);

export function isRef(text: string): boolean {
  return WHOLE_REF.test(text);
}

/**
 * Returns an id of 26 lowercase hex digits that sorts by time. The first 12 digits are the time in ms, the other 14
 * are random.
 */
export function timeOrderedId(env: Env): string {
  return env.now().toString(16).padStart(12, '0') + toHex(env.randomBytes(7));
}

/**
 * First character of idempotency keys that the relay itself creates. `relayBinder` rejects client keys that start
 * with it.
 */
const OWN_KEY_MARK = '\u001f';

/** Marks an idempotency key as created by the relay itself, so that no client can use this key. */
export function ownKey(key: string): string {
  return OWN_KEY_MARK + key;
}

export function isOwnKey(key: unknown): boolean {
  return typeof key === 'string' && key.startsWith(OWN_KEY_MARK);
}

/** Validates an idempotency key. Returns undefined if the key is missing or empty. */
export function checkIdempotencyKey(key: string | undefined): string | undefined {
  if (key === undefined || key === '') return undefined;
  if (key.length <= IDEMPOTENCY_KEY_CHARS) return key;
  throw badRequest(`The Idempotency-Key is longer than ${IDEMPOTENCY_KEY_CHARS} characters.`);
}
