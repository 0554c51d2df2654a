import ranks from 'gpt-tokenizer/bpeRanks/o200k_base';
import { O200K_TOKEN_SPLIT_REGEX } from 'gpt-tokenizer/encodingParams/constants';
import { BytePairs } from './byte-pairs.ts';
import { TOKEN_COUNT_CHARS, TOKEN_SLICE_CHARS } from './limits.ts';
import type { TokenCount } from './tokens.ts';

/**
 * Loading this costs a fifth of a second (the table has 200 000 rows): import it when there is something to count.
 * Special tokens such as `<|endoftext|>` are counted as the plain text they are in a payload.
 */

export const TOKENIZER = 'o200k_base';

/** Linear in the text, whatever is in it. Exact, unless `estimated`. */
export function countTokens(text: string): TokenCount {
  const tally = new Tally(text.length);
  for (const slice of slices(text)) tally.add(slice);
  return tally.done();
}

/** The same; `turn` is awaited after each slice (a few milliseconds at most), so that others can do their work. */
export async function countTokensInTurns(text: string, turn: () => Promise<void>): Promise<TokenCount> {
  const tally = new Tally(text.length);
  for (const slice of slices(text)) {
    tally.add(slice);
    await turn();
  }
  return tally.done();
}

interface Slice {
  readonly text: string;
  /** A token may have been cut in two at its end. */
  readonly torn: boolean;
}

class Tally {
  readonly #chars: number;
  #counted = 0;
  #tokens = 0;
  #torn = false;

  constructor(chars: number) {
    this.#chars = chars;
  }

  add(slice: Slice): void {
    this.#tokens += countSlice(slice.text);
    this.#counted += slice.text.length;
    this.#torn ||= slice.torn;
  }

  done(): TokenCount {
    const whole = this.#counted === this.#chars;
    const tokens = whole ? this.#tokens : Math.round((this.#tokens / this.#counted) * this.#chars);
    return { tokens, tokenizer: TOKENIZER, estimated: this.#torn || !whole };
  }
}

/** Of a text that is too long, slices spread evenly over all of it. */
function* slices(text: string): Generator<Slice> {
  const stride = Math.max(1, text.length / TOKEN_COUNT_CHARS);
  for (let from = 0; from < text.length; ) {
    const end = sliceEnd(text, from);
    yield { text: text.slice(from, end.at), torn: end.torn };
    const skip = Math.floor((end.at - from) * (stride - 1));
    from = skip === 0 ? end.at : sliceEnd(text, end.at + skip, 0).at;
  }
}

/** A place near the wanted end of a slice that no token spans; or, where there is none, simply one further on. */
function sliceEnd(text: string, from: number, length = TOKEN_SLICE_CHARS): { at: number; torn: boolean } {
  const wanted = from + length;
  if (wanted >= text.length) return { at: text.length, torn: false };
  const last = Math.min(wanted + TOKEN_SLICE_CHARS, text.length);
  for (let at = wanted; at < last; at++) {
    if (isBreak(text.charCodeAt(at - 1), text.charCodeAt(at))) return { at, torn: false };
  }
  if (last === text.length) return { at: last, torn: false };
  const lowSurrogate = (text.charCodeAt(last) & 0xfc00) === 0xdc00;
  return { at: lowSurrogate ? last - 1 : last, torn: true };
}

/**
 * The pattern that splits text into pieces breaks here whatever is around: a space or a full stop of East Asian text behind
 * a letter or digit, a letter or digit behind a line feed, and between letters and digits.
 */
function isBreak(before: number, after: number): boolean {
  if (after === SPACE || EAST_ASIAN_STOPS.has(after)) return isWord(before);
  if (before === LINE_FEED) return isWord(after);
  return (isDigit(before) && isLetter(after)) || (isLetter(before) && isDigit(after));
}

const SPACE = 0x20;
const LINE_FEED = 0x0a;
const EAST_ASIAN_STOPS = new Set([...'、。「」，！？'].map((char) => char.charCodeAt(0)));

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function isLetter(code: number): boolean {
  return (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a;
}

function isWord(code: number): boolean {
  return isLetter(code) || isDigit(code) || (code > 0x7f && /[\p{L}\p{N}]/u.test(String.fromCharCode(code)));
}

function countSlice(text: string): number {
  let tokens = 0;
  for (const [piece] of text.matchAll(O200K_TOKEN_SPLIT_REGEX)) tokens += pairs.count(byteString(piece));
  return tokens;
}

/** The package has text for most rows and bytes for the rest; here every key is bytes, one character each. */
function rankTable(): Map<string, number> {
  const table = new Map<string, number>();
  ranks.forEach((token, rank) => {
    table.set(typeof token === 'string' ? byteString(token) : String.fromCharCode(...token), rank);
  });
  return table;
}

function byteString(text: string): string {
  return NOT_ASCII.test(text) ? characters(encoder.encode(text)) : text;
}

const NOT_ASCII = /[^\x00-\x7f]/;
const encoder = new TextEncoder();
/** Arguments live on the stack. */
const ARGUMENTS = 4096;

const pairs = new BytePairs(rankTable());

function characters(bytes: Uint8Array): string {
  if (bytes.length <= ARGUMENTS) return String.fromCharCode(...bytes);
  let text = '';
  for (let i = 0; i < bytes.length; i += ARGUMENTS)
    text += String.fromCharCode(...bytes.subarray(i, i + ARGUMENTS));
  return text;
}
