/**
 * Base64 in both alphabets. Engines that have it natively use it; the tables below serve the others and are fast
 * enough for a whole payload.
 */

/** URL-safe alphabet, without padding unless asked: what a header, a path or a Fernet token carries. */
export function toBase64Url(bytes: Uint8Array, o: { padding?: boolean } = {}): string {
  const native = bytes as Partial<NativeEncode>;
  if (native.toBase64) return native.toBase64({ alphabet: 'base64url', omitPadding: !o.padding });
  return encodeWithTable(bytes, URL_ALPHABET, o.padding ?? false);
}

export function toBase64(bytes: Uint8Array): string {
  const native = bytes as Partial<NativeEncode>;
  return native.toBase64 ? native.toBase64() : encodeWithTable(bytes, PLAIN_ALPHABET, true);
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

const PLAIN_ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const URL_ALPHABET = `${PLAIN_ALPHABET.slice(0, 62)}-_`;

function decode(text: string, alphabet: Alphabet): Uint8Array<ArrayBuffer> | null {
  const unpadded = text.length % 4 === 0 ? text : pad(text);
  if (unpadded === null) return null;
  const native = Uint8Array as Partial<NativeDecode>;
  if (!native.fromBase64) return decodeWithTable(unpadded, alphabet);
  // The native decoder skips white space; here it is no part of the text.
  if (/\s/.test(unpadded)) return null;
  try {
    return native.fromBase64(unpadded, { alphabet, lastChunkHandling: 'strict' });
  } catch {
    return null;
  }
}

function pad(text: string): string | null {
  if (text.endsWith('=') || text.length % 4 === 1) return null;
  return text + '='.repeat(4 - (text.length % 4));
}

const CHUNK = 24 * 1024;

/** Exported for its test: Node 22 and older browsers take this path. */
export function encodeWithTable(bytes: Uint8Array, alphabet: string, padding: boolean): string {
  const codes = Uint8Array.from(alphabet, (c) => c.charCodeAt(0));
  const ascii = new TextDecoder('latin1');
  const out = new Uint8Array((CHUNK / 3) * 4);
  let text = '';
  for (let from = 0; from < bytes.length; from += CHUNK) {
    const to = Math.min(from + CHUNK, bytes.length);
    let o = 0;
    for (let i = from; i < to; i += 3) {
      const n = (bytes[i]! << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0);
      out[o++] = codes[n >> 18]!;
      out[o++] = codes[(n >> 12) & 63]!;
      out[o++] = codes[(n >> 6) & 63]!;
      out[o++] = codes[n & 63]!;
    }
    text += ascii.decode(out.subarray(0, o));
  }
  const missing = (3 - (bytes.length % 3)) % 3;
  if (missing === 0) return text;
  return text.slice(0, text.length - missing) + (padding ? '='.repeat(missing) : '');
}

const INVALID = 255;

/** Exported for its test. Takes text padded to a multiple of four. */
export function decodeWithTable(text: string, alphabet: Alphabet): Uint8Array<ArrayBuffer> | null {
  const values = new Uint8Array(256).fill(INVALID);
  const chars = alphabet === 'base64' ? PLAIN_ALPHABET : URL_ALPHABET;
  for (let i = 0; i < 64; i++) values[chars.charCodeAt(i)] = i;
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  const length = text.length - padding;
  const out = new Uint8Array((text.length / 4) * 3 - padding);
  let o = 0;
  let held = 0;
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i);
    const value = code < 256 ? values[code]! : INVALID;
    if (value === INVALID) return null;
    held = (held << 6) | value;
    if ((i & 3) === 3) {
      out[o++] = (held >> 16) & 255;
      out[o++] = (held >> 8) & 255;
      out[o++] = held & 255;
      held = 0;
    }
  }
  // Bits left over behind the last byte must be zero, or two texts would mean the same bytes.
  if (padding === 1) {
    if (held & 3) return null;
    out[o++] = (held >> 10) & 255;
    out[o++] = (held >> 2) & 255;
  } else if (padding === 2) {
    if (held & 15) return null;
    out[o++] = (held >> 4) & 255;
  }
  return out;
}
