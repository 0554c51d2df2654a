import { TOKEN_SLICE_CHARS } from '../base/limits.ts';

/** The kinds of characters by which o200k_base splits a text before it merges bytes: no token spans two pieces. */
const [OTHER, MARK, UPPER, LOWER, LETTER, NUMBER, SPACE, LINE_END] = [1, 2, 4, 8, 16, 32, 64, 128];

/** Behind these there are only variation selectors, which are marks, and characters that are not assigned. */
export const KINDS = 0x40000;

export function kindOf(code: number): number {
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

/**
 * Finds the pieces of a text. It is the tokenizer's regular expression written out: compiling that takes longer than counting a
 * page. A piece that is longer than TOKEN_SLICE_CHARS is cut.
 */
export class TokenPieces {
  readonly #text: string;
  /** The kind of each character up to KINDS. */
  readonly #kinds: Uint8Array;
  #limit = 0;
  /** Whether a piece had to be cut so far, or may have been. */
  cut = false;

  constructor(text: string, kinds: Uint8Array) {
    this.#text = text;
    this.#kinds = kinds;
  }

  /** Where the piece that begins at `from` ends. */
  end(from: number): number {
    const text = this.#text;
    this.#limit = Math.min(from + TOKEN_SLICE_CHARS, text.length);
    const first = this.#kind(from);
    const isPrefix = (first & (OTHER | MARK | SPACE)) !== 0;
    for (let start = isPrefix ? from + this.#width(from) : from; ; start = from) {
      const end = this.#wordEnd(start, start !== from && first === MARK);
      if (end > start) return this.#contracted(end);
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
      return this.#looked(after);
    }
    const blank = this.#run(from, SPACE | LINE_END);
    for (let at = blank; at > from; at--) if (this.#kind(at - 1) === LINE_END) return at;
    return blank === this.#limit || blank === from + 1 ? blank : blank - 1;
  }

  /** Capitals, then others. Letters without case may end a word that begins with capitals, and capitals behind them begin the next. */
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
    return this.#looked(end);
  }

  #looked(end: number): number {
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

  #contracted(end: number): number {
    if (this.#text[end] !== "'") return end;
    CONTRACTION.lastIndex = end;
    return CONTRACTION.test(this.#text) ? CONTRACTION.lastIndex : end;
  }
}
