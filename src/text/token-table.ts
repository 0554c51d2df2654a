import { TOKEN_SLICE_CHARS } from '../base/limits.ts';

/** Vocabulary of a tokenizer as a byte array. It is searched in place, so opening it needs no parsing. */
export interface TokenTable {
  /** Class of each character, see `charClass`. */
  readonly charClasses: Uint8Array;
  /**
   * Returns the rank of the token with these bytes, or NO_TOKEN. Pairs with the lowest rank are merged first.
   */
  rankOf(text: Uint8Array, from: number, to: number): number;
}

export const NO_TOKEN = -1;

type Token = string | readonly number[] | Uint8Array;

/**
 * Builds the table. It starts with 32-bit integers: first the number of slots of each hash table, then all slots. After
 * the integers, one byte per character contains its class. A slot has two integers. The first is a hash of the token.
 * The low 18 bits of the second are the rank plus one (0 means an empty slot), its other bits come from a second hash.
 * Short tokens have a hash table per token length, so that lookups of these most frequent tokens touch few memory
 * pages. Token bytes are not stored: 46 hash bits identify a token, with about one false match in 70 trillion lookups.
 */
export function makeTokenTable(tokens: readonly Token[]): Uint8Array<ArrayBuffer> {
  const texts = tokens.map(bytesOf);
  const counts = new Int32Array(TABLES);
  for (const { length } of texts) counts[tableOf(length)]!++;
  const slots = Array.from(counts, (count) => 2 ** Math.ceil(Math.log2(count * 1.25 + 1)));
  const integers = new Int32Array(TABLES + 2 * slots.reduce((sum, count) => sum + count, 0));
  integers.set(slots);
  const places = placesOf(integers);
  for (const [rank, text] of texts.entries()) {
    const { at, mask } = places[tableOf(text.length)]!;
    const first = hash(text, 0, text.length);
    let slot = first & mask;
    while (integers[at + 2 * slot + 1] !== 0) slot = (slot + 1) & mask;
    integers[at + 2 * slot] = first;
    integers[at + 2 * slot + 1] = (secondHash(text, 0, text.length) & ~RANK_MASK) | (rank + 1);
  }
  const bytes = new Uint8Array(integers.byteLength + CLASSIFIED_CHARS);
  bytes.set(new Uint8Array(integers.buffer));
  for (let code = 0; code < CLASSIFIED_CHARS; code++) bytes[integers.byteLength + code] = charClass(code);
  return bytes;
}

/**
 * Packs the vocabulary alone: the number of tokens, the length of each token, then the bytes of all tokens.
 * Compressed, it has a quarter of the table's size.
 */
export function packTokens(tokens: readonly Token[]): Uint8Array {
  const texts = tokens.map(bytesOf);
  const count = new DataView(new ArrayBuffer(4));
  count.setUint32(0, texts.length, true);
  const bytes = texts.flatMap((text) => [...text]);
  return Uint8Array.from([...new Uint8Array(count.buffer), ...texts.map(({ length }) => length), ...bytes]);
}

/** Returns the tokens that `packTokens` packed. */
export function unpackTokens(packed: Uint8Array): Uint8Array[] {
  const count = new DataView(packed.buffer, packed.byteOffset).getUint32(0, true);
  let end = 4 + count;
  return Array.from(packed.subarray(4, end), (length) => {
    end += length;
    return packed.subarray(end - length, end);
  });
}

/** Returns whether a stored table is complete. A crash can leave a file that is cut off or all zeros. */
export function isWholeTable(bytes: Uint8Array): boolean {
  if (bytes.length < 4 * TABLES) return false;
  const slots = integersOf(bytes).subarray(0, TABLES);
  return slots.every((count) => count > 0) && bytes.length === classesOffset(slots) + CLASSIFIED_CHARS;
}

/** Opens a table that `isWholeTable` has accepted. */
export function openTokenTable(bytes: Uint8Array): TokenTable {
  const integers = integersOf(bytes);
  const places = placesOf(integers);
  const from = classesOffset(integers.subarray(0, TABLES));
  const charClasses = bytes.subarray(from, from + CLASSIFIED_CHARS);
  return {
    charClasses,
    rankOf(text, start, end) {
      if (end - start > MAX_TOKEN_BYTES) return NO_TOKEN;
      const { at, mask } = places[tableOf(end - start)]!;
      const first = hash(text, start, end);
      for (let slot = first & mask; ; slot = (slot + 1) & mask) {
        const place = at + 2 * slot;
        const found = integers[place + 1]!;
        if (found === 0) return NO_TOKEN;
        if (integers[place] !== first) continue;
        if (((found ^ secondHash(text, start, end)) & ~RANK_MASK) === 0) return (found & RANK_MASK) - 1;
      }
    },
  };
}

const encoder = new TextEncoder();

function bytesOf(token: Token): Uint8Array {
  return typeof token === 'string' ? encoder.encode(token) : Uint8Array.from(token);
}

/** Number of hash tables: one for each token length of 1 to 8 bytes, and one for all longer tokens. */
const TABLES = 9;

function tableOf(length: number): number {
  return Math.min(length, TABLES) - 1;
}

interface Place {
  /** Offset of the first slot, in integers. */
  readonly at: number;
  readonly mask: number;
}

function placesOf(integers: Int32Array): Place[] {
  let at = TABLES;
  return Array.from(integers.subarray(0, TABLES), (slots) => {
    at += 2 * slots;
    return { at: at - 2 * slots, mask: slots - 1 };
  });
}

function integersOf(bytes: Uint8Array): Int32Array {
  return new Int32Array(bytes.buffer, bytes.byteOffset, Math.floor(bytes.byteLength / 4));
}

function classesOffset(slots: Int32Array): number {
  return 4 * slots.reduce((sum, count) => sum + 2 * count, TABLES);
}

/** Bit mask for the rank in the second integer of a slot. */
const RANK_MASK = 2 ** 18 - 1;
/** Length of the longest token of o200k_base, in bytes. */
const MAX_TOKEN_BYTES = 128;
/** Returns the FNV-1a hash with its high bits mixed into the low bits, which select the slot. */
function hash(text: Uint8Array, from: number, to: number): number {
  let sum = 0x811c9dc5;
  for (let at = from; at < to; at++) sum = Math.imul(sum ^ text[at]!, 0x01000193);
  return sum ^ (sum >>> 15);
}

/** Returns a second hash with other constants, to distinguish tokens with equal first hashes. */
function secondHash(text: Uint8Array, from: number, to: number): number {
  let sum = 0x9747b28c;
  for (let at = from; at < to; at++) sum = Math.imul(sum ^ text[at]!, 0x5bd1e995);
  return sum;
}

/** Character classes. o200k_base splits a text into pieces by these classes; no token spans two pieces. */
const [OTHER, MARK, UPPER, LOWER, LETTER, NUMBER, SPACE, LINE_END] = [1, 2, 4, 8, 16, 32, 64, 128];

/** Number of code points with a stored class. Higher code points are variation selectors (marks) or unassigned. */
const CLASSIFIED_CHARS = 0x40000;

function charClass(code: number): number {
  const char = String.fromCodePoint(code);
  if (char === '\r' || char === '\n') return LINE_END;
  if (/\s/u.test(char)) return SPACE;
  if (/\p{N}/u.test(char)) return NUMBER;
  if (/\p{M}/u.test(char)) return MARK;
  if (/[\p{Lu}\p{Lt}]/u.test(char)) return UPPER;
  if (/\p{Ll}/u.test(char)) return LOWER;
  return /\p{L}/u.test(char) ? LETTER : OTHER;
}

const CONTRACTION = /'(?:[sdmt]|ll|ve|re)/iy;

/** Pieces of this length or longer are left to the code for all characters. */
const LONG_PIECE = 60;

/**
 * Matches a piece of ASCII characters: a word, digits, symbols or white space. Does not match white space before a
 * character that is not visible ASCII. The repeats are bounded so that a long run takes linear time.
 */
const ASCII_PIECE =
  /[\t\v\f -/:-@[-`{-~]?(?:[A-Z]{0,60}[a-z]{1,60}|[A-Z]{1,60})(?:'(?:[sdmtSDMT]|[lL][lL]|[vV][eE]|[rR][eE]))?|[0-9]{1,3}| ?[!-/:-@[-`{-~]{1,60}[\r\n/]{0,60}|[\t-\r ]{0,60}[\r\n]{1,60}(?=[\t\v\f ]{0,60}[!-~])|[\t\v\f ]{1,60}(?=[\t\v\f ][!-~])|[\t\v\f ](?=[!-~])/y;

/**
 * Splits a text into pieces. `ASCII_PIECE` finds most of them. For other characters, the tokenizer's regular expression
 * is implemented by hand, because compiling its Unicode classes takes longer than counting a page. Cuts pieces that are
 * longer than TOKEN_SLICE_CHARS.
 */
export class TokenPieces {
  readonly #text: string;
  /** Class of each character below CLASSIFIED_CHARS. */
  readonly #kinds: Uint8Array;
  #limit = 0;
  /** True if a piece reached TOKEN_SLICE_CHARS before the end of the text, so that it may have been cut. */
  cut = false;

  constructor(text: string, kinds: Uint8Array) {
    this.#text = text;
    this.#kinds = kinds;
  }

  /** Returns the end of the piece that begins at `from`. */
  end(from: number): number {
    const text = this.#text;
    ASCII_PIECE.lastIndex = from;
    if (ASCII_PIECE.test(text)) {
      const end = ASCII_PIECE.lastIndex;
      const next = text.charCodeAt(end);
      // Before any other character, or at the end of the text, the piece could end elsewhere. The code below then
      // decides.
      if (end - from < LONG_PIECE && ((next >= 0x20 && next < 0x7f) || (next >= 0x09 && next <= 0x0d)))
        return end;
    }
    this.#limit = Math.min(from + TOKEN_SLICE_CHARS, text.length);
    const first = this.#kind(from);
    const isPrefix = (first & (OTHER | MARK | SPACE)) !== 0;
    for (let start = isPrefix ? from + this.#width(from) : from; ; start = from) {
      const end = this.#wordEnd(start, start !== from && first === MARK);
      if (end > start) return this.#withContraction(end);
      if (start === from) break;
    }
    if (first === NUMBER) {
      let end = from;
      for (let digits = 0; digits < 3 && end < this.#limit && this.#kind(end) === NUMBER; digits++)
        end += this.#width(end);
      return end;
    }
    const symbols = text[from] === ' ' ? from + 1 : from;
    const end = this.#run(symbols, OTHER | MARK);
    if (end > symbols) {
      let after = end;
      while (after < this.#limit && (text[after] === '/' || this.#kind(after) === LINE_END)) after++;
      return this.#noteCut(after);
    }
    const blank = this.#run(from, SPACE | LINE_END);
    for (let at = blank; at > from; at--) if (this.#kind(at - 1) === LINE_END) return at;
    return blank === this.#limit || blank === from + 1 ? blank : blank - 1;
  }

  /**
   * Returns the end of a word: upper-case letters, then lower-case letters. Letters without case may be in either
   * part.
   */
  #wordEnd(start: number, lowerOnly: boolean): number {
    const upper = this.#run(start, UPPER | LETTER | MARK);
    let end = this.#run(upper, LOWER | LETTER | MARK);
    if (end > upper) return end;
    end = start;
    for (let at = start; at < upper; at += this.#width(at))
      if (this.#kind(at) !== UPPER) end = at + this.#width(at);
    return end > start || lowerOnly ? end : upper;
  }

  #run(from: number, kinds: number): number {
    let end = from;
    while (end < this.#limit && this.#kind(end) & kinds) end += this.#width(end);
    return this.#noteCut(end);
  }

  #noteCut(end: number): number {
    if (end >= this.#limit && end < this.#text.length) this.cut = true;
    return end;
  }

  #kind(at: number): number {
    const code = this.#text.codePointAt(at)!;
    return this.#kinds[code] ?? (code >>> 8 === 0xe01 ? MARK : OTHER);
  }

  #width(at: number): number {
    return this.#text.codePointAt(at)! > 0xffff ? 2 : 1;
  }

  #withContraction(end: number): number {
    if (this.#text[end] !== "'") return end;
    CONTRACTION.lastIndex = end;
    return CONTRACTION.test(this.#text) ? CONTRACTION.lastIndex : end;
  }
}
