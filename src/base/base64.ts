/**
 * Base64 in both alphabets. Platforms that have it natively for bytes use that; Node 22 and 24 and older browsers go by
 * way of `btoa` and `atob`.
 */

/** URL-safe alphabet, without padding by default: what a header, a path or a Fernet token carries. */
export function toBase64Url(bytes: Uint8Array, o: { padding?: boolean } = {}): string {
  const native = bytes as Partial<NativeEncode>;
  if (native.toBase64) return native.toBase64({ alphabet: 'base64url', omitPadding: !o.padding });
  const text = encodeByBtoa(bytes, 'base64url');
  return o.padding ? text : text.replace(/=+$/, '');
}

export function toBase64(bytes: Uint8Array): string {
  const native = bytes as Partial<NativeEncode>;
  return native.toBase64 ? native.toBase64() : encodeByBtoa(bytes, 'base64');
}

/** Null for anything that is not exactly base64url; padding may be there, whole, or not at all. */
export function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | null {
  return decode(text, 'base64url');
}

/** Null for anything that is not exactly base64; padding may be there, whole, or not at all. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  return decode(text, 'base64');
}

type Alphabet = 'base64' | 'base64url';

interface NativeEncode {
  toBase64(o?: { alphabet?: Alphabet; omitPadding?: boolean }): string;
}
interface NativeDecode {
  fromBase64(text: string, o: { alphabet: Alphabet; lastChunkHandling: 'strict' }): Uint8Array<ArrayBuffer>;
}

function decode(text: string, alphabet: Alphabet): Uint8Array<ArrayBuffer> | null {
  const missing = (4 - (text.length % 4)) % 4;
  if (missing === 3 || (missing > 0 && text.endsWith('='))) return null;
  const padded = text + '='.repeat(missing);
  const native = Uint8Array as Partial<NativeDecode>;
  if (!native.fromBase64) return decodeByAtob(padded, alphabet);
  // The native decoder skips white space; here it is no part of the text.
  if (/\s/.test(padded)) return null;
  try {
    return native.fromBase64(padded, { alphabet, lastChunkHandling: 'strict' });
  } catch {
    return null;
  }
}

/** A multiple of three, so that no chunk but the last is padded, and few enough to be arguments of a call. */
const CHUNK = 24 * 1024;

/** Exported for its test. With padding. */
export function encodeByBtoa(bytes: Uint8Array, alphabet: Alphabet): string {
  let text = '';
  for (let from = 0; from < bytes.length; from += CHUNK) {
    // Spreading the bytes would take ten times as long.
    text += btoa(String.fromCharCode.apply(null, bytes.subarray(from, from + CHUNK) as unknown as number[]));
  }
  return alphabet === 'base64' ? text : text.replaceAll('+', '-').replaceAll('/', '_');
}

/** Exported for its test. Takes text padded to a multiple of four. */
export function decodeByAtob(text: string, alphabet: Alphabet): Uint8Array<ArrayBuffer> | null {
  // `atob` skips white space, and here knows the other alphabet alone.
  if (/\s/.test(text) || (alphabet === 'base64url' && /[+/]/.test(text))) return null;
  let binary: string;
  try {
    binary = atob(alphabet === 'base64' ? text : text.replaceAll('-', '+').replaceAll('_', '/'));
  } catch {
    return null;
  }
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  // Bits left over behind the last byte must be zero, or two texts would mean the same bytes.
  const last = bytes.subarray(bytes.length - (bytes.length % 3 || 3));
  return text.endsWith(encodeByBtoa(last, alphabet)) ? bytes : null;
}
