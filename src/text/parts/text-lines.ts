import { RelayError } from '../../base/errors.ts';
import { PART_CHARS, PART_LINE_CHARS } from '../../base/limits.ts';

export type PartBody = Uint8Array | ReadableStream<Uint8Array>;

/**
 * A line, or a piece of a long line. A line that is longer than PART_LINE_CHARS arrives in pieces with one number, so
 * that a reader holds only one piece in memory.
 */
export interface TextLine {
  /** Line number, from 1. */
  readonly number: number;
  readonly text: string;
  /** Index of the piece within its line, from 0. */
  readonly piece: number;
  /** True if more pieces of the line follow. */
  readonly more: boolean;
}

/**
 * Yields the lines of a body without line ends, in batches, because an await per line would be slow. Reads no further
 * if the consumer leaves the loop early. Throws `not_text` if the bytes are not UTF-8.
 */
export async function* textLines(body: PartBody, what: string): AsyncGenerator<TextLine[]> {
  let rest = '';
  let number = 1;
  let piece = 0;
  /** Adds the full pieces of `text` to `lines`. Returns the remaining characters. */
  const cut = (text: string, lines: TextLine[]): string => {
    let from = 0;
    while (text.length - from > PART_LINE_CHARS) {
      let to = from + PART_LINE_CHARS;
      const lowSurrogate = (text.charCodeAt(to) & 0xfc00) === 0xdc00;
      if (lowSurrogate) to--;
      lines.push({ number, text: text.slice(from, to), piece: piece++, more: true });
      from = to;
    }
    return text.slice(from);
  };
  const finish = (text: string, lines: TextLine[]) => {
    const rest = cut(text, lines);
    const line = rest.endsWith('\r') ? rest.slice(0, -1) : rest;
    lines.push({ number: number++, text: line, piece, more: false });
    piece = 0;
  };
  for await (const text of decodedChunks(body, what)) {
    const lines: TextLine[] = [];
    let from = 0;
    for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', from)) {
      finish(rest + text.slice(from, at), lines);
      rest = '';
      from = at + 1;
    }
    rest = cut(rest + text.slice(from), lines);
    yield lines;
  }
  const last: TextLine[] = [];
  if (rest !== '' || piece > 0) finish(rest, last);
  yield last;
}

/** Returns the whole body as text without a byte order mark, and its size in bytes. */
export async function wholeText(body: PartBody, what: string): Promise<{ text: string; bytes: number }> {
  const counted = { bytes: 0 };
  const chunks: string[] = [];
  for await (const text of decodedChunks(body, what, counted)) chunks.push(text);
  return { text: chunks.join(''), bytes: counted.bytes };
}

/**
 * Number of bytes that are decoded in one step. A body in memory is decoded in steps too, so that the consumer can stop
 * early.
 */
const DECODE_BYTES = 64 * 1024;

async function* decodedChunks(body: PartBody, what: string, tally = { bytes: 0 }): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const decode = (chunk?: Uint8Array) => {
    try {
      return chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode();
    } catch (cause) {
      throw new RelayError('not_text', { what }, cause);
    }
  };
  for await (const chunk of body instanceof Uint8Array ? slices(body) : body) {
    tally.bytes += chunk.length;
    yield decode(chunk);
  }
  yield decode();
}

function* slices(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += DECODE_BYTES) yield bytes.subarray(at, at + DECODE_BYTES);
}

/** Text at the end of a line that was cut. */
export const CUT_MARK = ' […]';

/** Collects the lines of a part, up to PART_CHARS. */
export class PartText {
  readonly #lines: string[] = [];
  #chars = 0;

  /** Adds a line. Returns false and adds nothing if it would exceed the limit. */
  add(line: string): boolean {
    if (this.#chars + line.length + 1 > PART_CHARS) return false;
    this.#lines.push(line);
    this.#chars += line.length + 1;
    return true;
  }

  toString(): string {
    return this.#lines.join('\n');
  }
}

/** Formats a count with its noun: `1 line`, `2 lines`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
