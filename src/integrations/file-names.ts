import { type ErrorCode, RelayError } from '../base/errors.ts';
import { sha256Hex } from '../base/hash.ts';
import type { FileInfo } from '../contract/files.ts';
import type { FileSpace, FileToWrite } from '../sdk/files.ts';

/**
 * Maximum size in bytes of an encoded name. The relay allows 255 bytes per path segment. A longer name is
 * replaced by its first bytes and a hash.
 */
const SEGMENT_BYTES = 200;
const PREFIX_BYTES = 120;

/**
 * Encodes any text as one path segment: letters, digits and `-` stay, other bytes are percent-encoded, and an
 * empty text becomes `_`. Different texts give different segments. A long text is shortened, and then its
 * segment cannot be decoded. So callers that need the text also store it in the file.
 */
export async function segment(text: string): Promise<string> {
  if (text === '') return '_';
  const encoded = encoder.encode(text).reduce((path, byte) => path + ENCODED_BYTES[byte]!, '');
  if (encoded.length <= SEGMENT_BYTES) return encoded;
  return `${encoded.slice(0, PREFIX_BYTES)}~${await sha256Hex(text)}`;
}

export async function segments(texts: readonly string[]): Promise<string> {
  return (await Promise.all(texts.map(segment))).join('/');
}

/**
 * Encodes a text as a segment, so that segments sort in the reverse order of the texts. If names grow with
 * time, as UUIDs of version 6 do, a listing starts with the newest name.
 */
export function backwards(text: string): string {
  const digits = encoder
    .encode(text)
    .reduce((path, byte) => path + (255 - byte).toString(16).padStart(2, '0'), '');
  // The `~` sorts after every digit. So `ab` sorts before `a`, as reverse order requires.
  return `${digits}~`;
}

const encoder = new TextEncoder();

const ENCODED_BYTES: readonly string[] = Array.from({ length: 256 }, (_, byte) => {
  const char = String.fromCharCode(byte);
  return /[A-Za-z0-9-]/.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
});

/** Returns all files whose paths start with the prefix, sorted by path. */
export async function filesBelow(space: FileSpace, prefix: string): Promise<FileInfo[]> {
  const infos: FileInfo[] = [];
  for await (const info of space.all({ prefix })) infos.push(info);
  return infos;
}

type Answers = Awaited<ReturnType<FileSpace['write']>>;

/**
 * Writes files in few requests. Files that arrive while a request is running wait until it ends. All of them
 * then share the next request.
 */
export class FileWriter {
  readonly #space: FileSpace;
  #last: Promise<unknown> = Promise.resolve();
  #next: { readonly files: FileToWrite[]; readonly answers: Promise<Answers> } | undefined;

  constructor(space: FileSpace) {
    this.#space = space;
  }

  /**
   * Writes the files. If a file with `ifAbsent` already exists, it is skipped. Throws if any other file
   * cannot be written.
   */
  async write(files: readonly FileToWrite[]): Promise<void> {
    // A request does not write its files in a defined order, so no path may occur in it twice. If the request
    // that is being collected already contains one of these paths, wait until that request has ended.
    while (this.#next?.files.some(({ path }) => files.some((file) => file.path === path)))
      await this.#next.answers.catch(() => {});
    if (files.length === 0) return;
    this.#next ??= this.#batch();
    const { files: together, answers } = this.#next;
    const from = together.push(...files) - files.length;
    const mine = (await answers).slice(from, from + files.length);
    mine.forEach((answer, i) => {
      if (!('error' in answer) || (files[i]!.ifAbsent && answer.code === 'file_changed')) return;
      throw new RelayError(answer.code as ErrorCode, { what: answer.error, hint: answer.hint });
    });
  }

  #batch() {
    const files: FileToWrite[] = [];
    const answers = this.#last.then(() => {
      this.#next = undefined;
      return this.#space.write(files);
    });
    this.#last = answers.catch(() => {});
    return { files, answers };
  }
}
