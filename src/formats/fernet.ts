import { fromBase64Url, toBase64Url } from '../base/base64.ts';
import { type Env, systemEnv } from '../base/env.ts';
import { RelayError } from '../base/errors.ts';
import { toHex } from '../base/ids.ts';

/**
 * Fernet encryption, compatible with the specification and with Python's `cryptography`. A token is padded base64url
 * of these bytes: version 0x80, time in seconds (64 bits), IV, AES-128-CBC ciphertext, and an HMAC-SHA256 of all
 * bytes before it.
 */

const VERSION = 0x80;
const HEADER_BYTES = 1 + 8 + 16;
const MAC_BYTES = 32;
const BLOCK_BYTES = 16;
const KEY_BYTES = 32;

/** Content type of encrypted payloads. It lets a pull without the encryption key report `key_missing`. */
export const FERNET_CONTENT_TYPE = 'application/vnd.contextrelay.fernet';

export function generateFernetKey(env: Env): string {
  return toBase64Url(env.randomBytes(KEY_BYTES), { padding: true });
}

export function isFernetKey(text: string): boolean {
  return typeof readKey(text) !== 'string';
}

/**
 * Returns a check value of the encryption key: 8 bytes of an HKDF, in hex. It is stored unencrypted with the payload,
 * so that a wrong key is detected before a pull. It does not reveal the key.
 */
export async function fernetKeyCheck(key: string): Promise<string> {
  const secret = await crypto.subtle.importKey('raw', keyBytes(key), 'HKDF', false, ['deriveBits']);
  const info = new TextEncoder().encode('contextrelay key check');
  const hkdf = { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(), info };
  return toHex(new Uint8Array(await crypto.subtle.deriveBits(hkdf, secret, 64)));
}

/** Encrypts data to an ASCII token. `now` is in ms since the epoch. */
export async function fernetEncrypt(
  key: string,
  data: Uint8Array<ArrayBuffer>,
  o: { now: number; iv?: Uint8Array<ArrayBuffer> },
): Promise<string> {
  const { signing, encrypting } = await importKey(key);
  const iv = o.iv ?? systemEnv.randomBytes(BLOCK_BYTES);
  const ciphertext = new Uint8Array(await crypto.subtle.encrypt({ name: 'AES-CBC', iv }, encrypting, data));
  const token = new Uint8Array(HEADER_BYTES + ciphertext.length + MAC_BYTES);
  token[0] = VERSION;
  new DataView(token.buffer).setBigUint64(1, BigInt(Math.floor(o.now / 1000)));
  token.set(iv, 9);
  token.set(ciphertext, HEADER_BYTES);
  const signed = token.subarray(0, token.length - MAC_BYTES);
  token.set(new Uint8Array(await crypto.subtle.sign('HMAC', signing, signed)), signed.length);
  return toBase64Url(token, { padding: true });
}

/**
 * Decrypts a token. Throws `decrypt_failed` if the token is damaged or was made with another key. Does not check the
 * age of the token, because pointers have their own expiry.
 */
export async function fernetDecrypt(
  key: string,
  token: string | Uint8Array,
): Promise<Uint8Array<ArrayBuffer>> {
  const { signing, encrypting } = await importKey(key);
  const text = typeof token === 'string' ? token : new TextDecoder('latin1').decode(token);
  // The specification requires padding. Otherwise a text with padding and a text without it would decode to the same
  // bytes.
  const bytes = text.length % 4 === 0 ? fromBase64Url(text) : null;
  if (!bytes || bytes[0] !== VERSION) throw new RelayError('decrypt_failed');
  const blocks = bytes.length - HEADER_BYTES - MAC_BYTES;
  if (blocks < BLOCK_BYTES || blocks % BLOCK_BYTES !== 0) throw new RelayError('decrypt_failed');
  const signed = bytes.subarray(0, bytes.length - MAC_BYTES);
  // Verify the HMAC before decryption. `crypto.subtle.verify` compares in constant time.
  if (!(await crypto.subtle.verify('HMAC', signing, bytes.subarray(signed.length), signed))) {
    throw new RelayError('decrypt_failed');
  }
  try {
    const iv = bytes.subarray(9, HEADER_BYTES);
    const ciphertext = signed.subarray(HEADER_BYTES);
    return new Uint8Array(await crypto.subtle.decrypt({ name: 'AES-CBC', iv }, encrypting, ciphertext));
  } catch (cause) {
    throw new RelayError('decrypt_failed', {}, cause);
  }
}

async function importKey(key: string): Promise<{ signing: CryptoKey; encrypting: CryptoKey }> {
  const bytes = keyBytes(key);
  const [signing, encrypting] = await Promise.all([
    crypto.subtle.importKey('raw', bytes.subarray(0, 16), { name: 'HMAC', hash: 'SHA-256' }, false, [
      'sign',
      'verify',
    ]),
    crypto.subtle.importKey('raw', bytes.subarray(16), 'AES-CBC', false, ['encrypt', 'decrypt']),
  ]);
  return { signing, encrypting };
}

function keyBytes(key: string): Uint8Array<ArrayBuffer> {
  const read = readKey(key);
  if (typeof read === 'string') throw new RelayError('bad_key', { what: read });
  return read;
}

/** Returns the bytes of an encryption key, or a text that says why the key is invalid. */
function readKey(key: string): Uint8Array<ArrayBuffer> | string {
  const bytes = fromBase64Url(key);
  if (bytes?.length !== KEY_BYTES) return `${key.length} characters, not 44 of URL-safe base64`;
  // A key of zeros comes from a program that forgot to set it. Anyone can guess it.
  return bytes.some((byte) => byte !== 0) ? bytes : 'it contains only zeros';
}
