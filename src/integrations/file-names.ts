import { type ErrorCode, RelayError } from '../base/errors.ts';
import { sha256Hex } from '../base/hash.ts';
import { utf8Bytes } from '../base/utf8.ts';
import type { FileSpace, FileToWrite } from '../sdk/files.ts';

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

/** What is larger goes by itself: several together are one request with a limit of its own. */
const TOGETHER_BYTES = 256 * 1024;

/** Writes several files, in few requests. One that was to be new and is there stays as it is; any other refusal is thrown. */
export async function writeFiles(space: FileSpace, files: readonly FileToWrite[]): Promise<void> {
  const isLarge = ({ content }: FileToWrite) =>
    (typeof content === 'string' ? utf8Bytes(content) : content.byteLength) > TOGETHER_BYTES;
  for (const { path, content, ...o } of files.filter(isLarge)) {
    try {
      await space.put(path, content, o);
    } catch (error) {
      if (!(o.ifAbsent && error instanceof RelayError && error.code === 'file_changed')) throw error;
    }
  }
  const small = files.filter((file) => !isLarge(file));
  const answers = await space.write(small);
  answers.forEach((answer, i) => {
    if (!('error' in answer) || (small[i]!.ifAbsent && answer.code === 'file_changed')) return;
    throw new RelayError(answer.code as ErrorCode, { what: answer.error, hint: answer.hint });
  });
}
