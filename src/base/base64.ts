/**
 * Base64 with the standard and the URL-safe alphabet. Uses the native methods of Uint8Array where they exist. Node
 * 22, Node 24 and older browsers lack them, so `btoa` and `atob` are used there.
 */

/**
 * Encodes bytes as base64url, for headers, paths and Fernet tokens. Adds padding only with `padding: true`.
 */
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

/** Decodes base64url, with complete padding or without padding. Returns null for any other text. */
export function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | null {
  return decode(text, 'base64url');
}

/** Decodes base64, with complete padding or without padding. Returns null for any other text. */
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
  // The native decoder ignores white space, but here white space is an error.
  if (/\s/.test(padded)) return null;
  try {
    return native.fromBase64(padded, { alphabet, lastChunkHandling: 'strict' });
  } catch {
    return null;
  }
}

/**
 * Number of bytes that one `btoa` call encodes: a multiple of 3, so that only the last chunk has padding, and few
 * enough to be the arguments of one function call.
 */
const CHUNK = 24 * 1024;

/** Encodes with `btoa`, with padding. Exported for its test. */
export function encodeByBtoa(bytes: Uint8Array, alphabet: Alphabet): string {
  let text = '';
  for (let from = 0; from < bytes.length; from += CHUNK) {
    // `apply` is ten times faster than spreading the bytes.
    text += btoa(String.fromCharCode.apply(null, bytes.subarray(from, from + CHUNK) as unknown as number[]));
  }
  return alphabet === 'base64' ? text : text.replaceAll('+', '-').replaceAll('/', '_');
}

/** Decodes text with `atob`. The text must be padded to a multiple of 4 characters. Exported for its test. */
export function decodeByAtob(text: string, alphabet: Alphabet): Uint8Array<ArrayBuffer> | null {
  // `atob` ignores white space and accepts only the standard alphabet. So reject white space, and in base64url also
  // `+` and `/`.
  if (/\s/.test(text) || (alphabet === 'base64url' && /[+/]/.test(text))) return null;
  let binary: string;
  try {
    binary = atob(alphabet === 'base64' ? text : text.replaceAll('-', '+').replaceAll('_', '/'));
  } catch {
    return null;
  }
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  // Unused bits after the last byte must be zero. Otherwise two different texts would decode to the same bytes.
  const last = bytes.subarray(bytes.length - (bytes.length % 3 || 3));
  return text.endsWith(encodeByBtoa(last, alphabet)) ? bytes : null;
}
