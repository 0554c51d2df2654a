import { PART_LINE_CHARS } from '../../base/limits.ts';

/** A line of a text, or a piece of a long line, without ANSI codes and overwritten progress output. */
export interface Line {
  /** Line number from 1, as in `relay pull --lines`. */
  readonly number: number;
  /** Column from 0 at which the piece starts. 0 unless the line has several pieces. */
  readonly column: number;
  readonly text: string;
  /** True if another piece of the line follows. */
  readonly more: boolean;
  /** For each JSON object around the line, its first lines. They usually contain the name of the object. */
  readonly context?: readonly (readonly Line[])[];
}

/** Copies the text of a line, because a slice of a chunk would keep the whole chunk in memory. */
export function own(line: Line): Line {
  return { ...line, text: ` ${line.text}`.slice(1) };
}

/** Maximum number of characters of a piece of a line. */
export const PIECE_CHARS = 240;

/** Maximum length of an escape sequence that may be split between two chunks. */
const ESCAPE_CHARS = 256;

/** Maximum number of bytes that are decoded in one step, so that a large chunk creates no large string. */
const DECODE_BYTES = 64 * 1024;

/**
 * Matches escape sequences (CSI, OSC, DCS and two-character ones), control characters except tab, LF and CR,
 * byte order marks and Unicode line separators. The repeated parts of the pattern match no escape character,
 * so the search takes linear time.
 */
const CONTROLS =
  /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?|\x1b[ -/]*[0-~]?|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufeff\u2028\u2029]/g;
const HAS_CONTROLS = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufeff\u2028\u2029]/;

/**
 * Splits chunks of bytes into lines and calls `onLine` for each. A line that is longer than PIECE_CHARS arrives in
 * pieces. If carriage returns overwrite a line, only its last version arrives.
 */
export class LineReader {
  readonly #decoder = new TextDecoder('utf-8');
  readonly #onText: (text: string) => void;
  readonly #onLine: (line: Line) => void;
  #pending = '';
  #column = 0;
  /** True if the current line has a character. */
  #open = false;
  /** Number of lines that have ended. */
  lines = 0;
  bytes = 0;

  constructor(onText: (text: string) => void, onLine: (line: Line) => void) {
    this.#onText = onText;
    this.#onLine = onLine;
  }

  write(chunk: Uint8Array): void {
    this.bytes += chunk.length;
    for (let at = 0; at < chunk.length; at += DECODE_BYTES) {
      this.#take(this.#decoder.decode(chunk.subarray(at, at + DECODE_BYTES), { stream: true }));
    }
  }

  end(): void {
    this.#take(this.#decoder.decode());
    if (this.#open) this.#endLine();
  }

  #take(text: string): void {
    if (text === '') return;
    this.#onText(text);
    let from = 0;
    for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', from)) {
      this.#pending = this.#pending === '' ? text.slice(from, at) : this.#pending + text.slice(from, at);
      this.#endLine();
      from = at + 1;
    }
    this.#open ||= from < text.length;
    this.#pending += text.slice(from);
    if (this.#pending.length > PART_LINE_CHARS) this.#cutPending(false);
  }

  #endLine(): void {
    this.#cutPending(true);
    this.lines++;
    this.#column = 0;
    this.#open = false;
  }

  /** Reports the complete pieces of the pending text, and with `last` also the last piece. */
  #cutPending(last: boolean): void {
    let text = this.#pending;
    let rest = '';
    if (!last) {
      // The text may end inside an escape sequence or between CR and LF. Keep this end until the next chunk arrives.
      const open = Math.max(text.lastIndexOf('\x1b'), text.endsWith('\r') ? text.length - 1 : -1);
      if (open > text.length - ESCAPE_CHARS) [text, rest] = [text.slice(0, open), text.slice(open)];
    }
    if (HAS_CONTROLS.test(text)) text = text.replace(CONTROLS, '');
    if (text.includes('\r')) {
      const version = lastVersion(text);
      // Later text may still overwrite this version of the line, so keep the carriage return.
      const overwritten = !last && text.lastIndexOf('\r') > text.lastIndexOf(version);
      text = overwritten ? `${version}\r` : version;
      this.#column = 0;
    }
    while (text.length > PIECE_CHARS) {
      const length = pieceLength(text);
      this.#pass(text.slice(0, length), true);
      text = text.slice(length);
    }
    if (last && (text !== '' || this.#column === 0)) this.#pass(text, false);
    this.#pending = last ? '' : text + rest;
  }

  #pass(text: string, more: boolean): void {
    this.#onLine({ number: this.lines + 1, column: this.#column, text, more });
    this.#column += text.length;
  }
}

/**
 * Returns the last version of a line that carriage returns overwrite. Returns an empty string if all versions are
 * blank.
 */
function lastVersion(text: string): string {
  const end = text.trimEnd().length;
  return text.slice(text.lastIndexOf('\r', end - 1) + 1, end);
}

/**
 * Returns the length of the next piece, at most PIECE_CHARS. The piece ends after a separator if its second half
 * contains one.
 */
function pieceLength(text: string): number {
  for (let at = PIECE_CHARS; at > PIECE_CHARS / 2; at--) {
    const code = text.charCodeAt(at - 1);
    if (code === 0x2c || code === 0x20 || code === 0x3b || code === 0x3e) return at;
  }
  const highSurrogate = (text.charCodeAt(PIECE_CHARS - 1) & 0xfc00) === 0xd800;
  return highSurrogate ? PIECE_CHARS - 1 : PIECE_CHARS;
}
