import { clearMergeCache, countTokens as countExactly } from 'gpt-tokenizer/encoding/o200k_base';
import { TOKEN_COUNT_CHARS, TOKEN_SLICE_CHARS } from '../base/limits.ts';
import type { TokenCount } from '../base/tokens.ts';

/**
 * Loading this costs a fifth of a second (the table has 200 000 rows): import it when there is something to count.
 *
 * The library needs time that grows with the square of a piece without a break: 125 KB of one letter take it 16 seconds.
 * Here text is therefore counted in slices. They end where no token can span, so that the sum is exact; where there is no
 * such place, or the text is longer than is counted in one go, the figure is an estimate and says so.
 */

/** Special tokens such as `<|endoftext|>` are counted as the plain text that they are in a payload. */
const PLAIN = { disallowedSpecial: new Set<string>() };

/** A slice of a run without a break is slow to count and only an estimate: it stands for so much of what follows in the run. */
const RUN_CHARS = 16 * TOKEN_SLICE_CHARS;

/** Linear in the text, whatever is in it. Exact, unless `estimated`. */
export function countTokens(text: string): TokenCount {
  let tokens = 0;
  let estimated = false;
  for (const slice of slices(text)) {
    tokens += (countExactly(slice.text, PLAIN) * slice.covers) / slice.text.length;
    estimated ||= slice.torn || slice.covers > slice.text.length;
  }
  // The library remembers pieces, which helps within a text; afterwards nothing of a payload stays in memory.
  clearMergeCache();
  return { tokens: Math.round(tokens), tokenizer: 'o200k_base', estimated };
}

interface Slice {
  readonly text: string;
  /** How many characters of the whole text it stands for: its own, and those that are skipped behind it. */
  readonly covers: number;
  /** A token may have been cut in two at its end. */
  readonly torn: boolean;
}

/** All of a text; of one that is too long, slices that are spread evenly over it. */
function* slices(text: string): Generator<Slice> {
  const stride = Math.max(1, text.length / TOKEN_COUNT_CHARS);
  for (let from = 0; from < text.length; ) {
    const { at, torn } = cut(text, from + TOKEN_SLICE_CHARS);
    const runEnd = torn ? cut(text, at, RUN_CHARS).at : at;
    const skipped = Math.floor((runEnd - from) * (stride - 1));
    const next = skipped === 0 ? runEnd : cut(text, runEnd + skipped).at;
    yield { text: text.slice(from, at), covers: next - from, torn };
    from = next;
  }
}

/** The first place from `wanted` on that no token spans; where there is none `within` so many characters, that far on. */
function cut(text: string, wanted: number, within = TOKEN_SLICE_CHARS): { at: number; torn: boolean } {
  if (wanted >= text.length) return { at: text.length, torn: false };
  const last = Math.min(wanted + within, text.length);
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
