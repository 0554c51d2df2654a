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

/** A version 4 UUID from 16 bytes, random or derived. */
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

/** The ref of an artifact: 26 hex digits, or the 25 that a Go relay made. */
export const REF = '[0-9a-f]{25,26}';
const WHOLE_REF = new RegExp(`^${REF}$`);

export function isRef(text: string): boolean {
  return WHOLE_REF.test(text);
}

/** 26 lowercase hex characters that sort by time: 12 of milliseconds, 14 of chance. */
export function timeOrderedId(env: Env): string {
  return env.now().toString(16).padStart(12, '0') + toHex(env.randomBytes(7));
}

/** An Idempotency-Key as a relay takes it; undefined where there is none. */
/** What idempotency keys of the relay itself begin with. A client cannot send one: `relayBinder` refuses it. */
const OWN_KEY_MARK = '\u001f';

/** An idempotency key in a namespace that no client can write to. */
export function ownKey(key: string): string {
  return OWN_KEY_MARK + key;
}

export function isOwnKey(key: unknown): boolean {
  return typeof key === 'string' && key.startsWith(OWN_KEY_MARK);
}

export function checkIdempotencyKey(key: string | undefined): string | undefined {
  if (key === undefined || key === '') return undefined;
  if (key.length <= IDEMPOTENCY_KEY_CHARS) return key;
  throw badRequest(`The Idempotency-Key is longer than ${IDEMPOTENCY_KEY_CHARS} characters.`);
}
