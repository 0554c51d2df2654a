import { RelayError } from '../../base/errors.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LOWER_U = 0x75;

const SIMPLE: Record<number, number> = {
  34: 0x22,
  92: 0x5c,
  47: 0x2f,
  98: 0x08,
  102: 0x0c,
  110: 0x0a,
  114: 0x0d,
  116: 0x09,
};

/**
 * Decodes the inside of a JSON string, bytes in, bytes out, chunk by chunk. Runs without an escape are handed on as
 * they are, so plain text costs a search and no copy.
 */
export class JsonStringDecoder {
  /** An escape that the end of a chunk cut in two. */
  #pending: number[] = [];
  /** The first half of a surrogate pair, waiting for the second. */
  #high: number | null = null;

  /** Feeds bytes from `at`; gives the decoded pieces, and where the closing quote stood (-1: not in this chunk). */
  feed(chunk: Uint8Array, at: number): { pieces: Uint8Array[]; end: number } {
    const pieces: Uint8Array[] = [];
    let from = at;
    while (from < chunk.length) {
      if (this.#pending.length > 0) {
        this.#pending.push(chunk[from++]!);
        if (this.#complete()) pieces.push(this.#unescape());
        continue;
      }
      const stop = nextSpecial(chunk, from);
      if (stop > from) {
        this.#noHalfPair();
        pieces.push(chunk.subarray(from, stop));
      }
      if (stop === chunk.length) break;
      const byte = chunk[stop]!;
      from = stop + 1;
      if (byte === QUOTE) {
        this.#noHalfPair();
        return { pieces, end: from };
      }
      if (byte !== BACKSLASH)
        throw new RelayError('bad_json', { what: 'a control character inside a string' });
      this.#pending.push(byte);
    }
    return { pieces: pieces.filter((piece) => piece.length > 0), end: -1 };
  }

  #complete(): boolean {
    return this.#pending[1] === LOWER_U ? this.#pending.length === 6 : this.#pending.length === 2;
  }

  #unescape(): Uint8Array {
    const [, kind, ...hex] = this.#pending;
    this.#pending = [];
    if (kind !== LOWER_U) {
      const byte = SIMPLE[kind!];
      if (byte === undefined) throw new RelayError('bad_json', { what: 'an unknown escape inside a string' });
      this.#noHalfPair();
      return Uint8Array.of(byte);
    }
    const digits = String.fromCharCode(...hex);
    if (!/^[0-9a-f]{4}$/i.test(digits)) throw new RelayError('bad_json', { what: 'a broken \\u escape' });
    return this.#unit(Number.parseInt(digits, 16));
  }

  #unit(unit: number): Uint8Array {
    const high = this.#high;
    if (unit >= 0xdc00 && unit <= 0xdfff) {
      if (high === null) throw halfPair();
      this.#high = null;
      return utf8(String.fromCharCode(high, unit));
    }
    this.#noHalfPair();
    if (unit >= 0xd800 && unit <= 0xdbff) {
      this.#high = unit;
      return new Uint8Array(0);
    }
    return utf8(String.fromCharCode(unit));
  }

  #noHalfPair(): void {
    if (this.#high !== null) throw halfPair();
  }
}

export function halfPair(): RelayError {
  return new RelayError('bad_request', {
    what: '"data" holds half of a surrogate pair, which is not a character and would not survive.',
    hint: 'Send well-formed Unicode, or the bytes as a raw body.',
  });
}

const encoder = new TextEncoder();
const utf8 = (text: string) => encoder.encode(text);

/** The next quote, backslash or control character, or the end. */
function nextSpecial(chunk: Uint8Array, from: number): number {
  for (let i = from; i < chunk.length; i++) {
    const byte = chunk[i]!;
    if (byte === QUOTE || byte === BACKSLASH || byte < 0x20) return i;
  }
  return chunk.length;
}
