import { sha256Hex } from '../base/hash.ts';

/** Longer names become their beginning and a hash: a segment of a path takes 255 bytes. */
const SEGMENT_BYTES = 200;
const KEPT_BYTES = 120;

/**
 * Any text as one segment of a path: letters, digits and `-` as they are, the rest percent-encoded, nothing at all as `_`. Two
 * texts never have the same. What was too long cannot be read back; whoever needs the text keeps it in the file.
 */
export async function segment(text: string): Promise<string> {
  if (text === '') return '_';
  const encoded = encoder.encode(text).reduce((path, byte) => path + SHOWN[byte]!, '');
  if (encoded.length <= SEGMENT_BYTES) return encoded;
  return `${encoded.slice(0, KEPT_BYTES)}~${await sha256Hex(text)}`;
}

export async function segments(texts: readonly string[]): Promise<string> {
  return (await Promise.all(texts.map(segment))).join('/');
}

/**
 * A text as a segment that sorts backwards: what is greater by its UTF-8 bytes comes first. A listing gives the newest of names
 * that grow, such as UUIDs of version 6, with its first entry.
 */
export function backwards(text: string): string {
  const digits = encoder
    .encode(text)
    .reduce((path, byte) => path + (255 - byte).toString(16).padStart(2, '0'), '');
  // Behind every digit, so that of two texts with the same beginning the longer one comes first.
  return `${digits}~`;
}

const encoder = new TextEncoder();

const SHOWN: readonly string[] = Array.from({ length: 256 }, (_, byte) => {
  const char = String.fromCharCode(byte);
  return /[A-Za-z0-9-]/.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
});
