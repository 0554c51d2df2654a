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

/** Makes a version 4 UUID from 16 bytes, random or derived. */
export function uuidFrom(bytes: Uint8Array): string {
  const b = bytes.slice(0, 16);
  b[6] = (b[6]! & 0x0f) | 0x40;
  b[8] = (b[8]! & 0x3f) | 0x80;
  const hex = toHex(b);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

const HEX = Array.from({ length: 256 }, (_, i) => i.toString(16).padStart(2, '0'));

export function toHex(bytes: Uint8Array): string {
  let hex = '';
  for (const byte of bytes) hex += HEX[byte];
  return hex;
}

/** Pattern of an artifact ref: 26 hex digits, or 25 if a Go relay created it. */
export const REF = '[0-9a-f]{25,26}';
const WHOLE_REF = new RegExp(`^${REF}$`);

export function isRef(text: string): boolean {
  return WHOLE_REF.test(text);
}

/** Makes an id of 26 lowercase hex digits that sorts by time: 12 of milliseconds, 14 random. */
export function timeOrderedId(env: Env): string {
  return env.now().toString(16).padStart(12, '0') + toHex(env.randomBytes(7));
}

/** Prefix of idempotency keys of the relay itself. `relayBinder` rejects it in keys of clients. */
const OWN_KEY_MARK = '\u001f';

/** Puts an idempotency key into a namespace that clients cannot use. */
export function ownKey(key: string): string {
  return OWN_KEY_MARK + key;
}

export function isOwnKey(key: unknown): boolean {
  return typeof key === 'string' && key.startsWith(OWN_KEY_MARK);
}

/** Validates an Idempotency-Key. Returns undefined if there is none. */
export function checkIdempotencyKey(key: string | undefined): string | undefined {
  if (key === undefined || key === '') return undefined;
  if (key.length <= IDEMPOTENCY_KEY_CHARS) return key;
  throw badRequest(`The Idempotency-Key is longer than ${IDEMPOTENCY_KEY_CHARS} characters.`);
}
