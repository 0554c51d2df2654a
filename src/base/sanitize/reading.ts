import { isLetter, isWordChar, withoutMarks } from './characters.ts';
import { leetFor, looksLike, wholeLetter } from './confusables.ts';

/**
 * A text as a model might read it: lower case, without accents, words apart by one blank, sentences by a full stop.
 * Every unit of it knows where in the original it came from.
 */
export interface Reading {
  readonly text: string;
  /** The original's place of a span of this reading. */
  span(start: number, end: number): [start: number, end: number];
}

export interface ReadingOptions {
  /** Take look-alikes of other scripts, and digits in words, for the letters they pass for. */
  readonly lookAlikes?: boolean;
}

/** The original cut into characters; one that was spelt in an escape covers several of its units. */
export interface Pieces {
  readonly chars: readonly string[];
  readonly starts: readonly number[];
  readonly ends: readonly number[];
}

export function piecesOf(text: string): Pieces {
  const chars = Array.from(text);
  const starts: number[] = [];
  const ends: number[] = [];
  let at = 0;
  for (const char of chars) {
    starts.push(at);
    at += char.length;
    ends.push(at);
  }
  return { chars, starts, ends };
}

export function readAs({ chars, starts, ends }: Pieces, o: ReadingOptions = {}): Reading {
  const fold = o.lookAlikes ? foldLookAlike : foldPlain;
  let text = '';
  const from: number[] = [];
  const to: number[] = [];
  /** What stands between the last word and the next: nothing yet, or ' ', ':' or '.'. */
  let gap = '';
  let gapStart = 0;
  let lineEnds = 0;
  for (let i = 0; i < chars.length; i++) {
    const folded = fold(chars, i);
    if (folded === '') continue;
    const separator = separatorOf(folded);
    if (separator !== '') {
      if (gap === '') gapStart = starts[i]!;
      // Two line ends in a row are a paragraph, and end a sentence.
      lineEnds += separator === '\n' ? 1 : 0;
      if (separator === '.' || lineEnds === 2) gap = '.';
      else if (gap === '' || gap === ' ') gap = separator === ':' ? ':' : ' ';
      continue;
    }
    if (gap !== '' && text !== '') {
      text += gap;
      from.push(gapStart);
      to.push(starts[i]!);
    }
    gap = '';
    lineEnds = 0;
    text += folded;
    for (let unit = 0; unit < folded.length; unit++) {
      from.push(starts[i]!);
      to.push(ends[i]!);
    }
  }
  if (gap !== '' && text !== '') {
    text += gap;
    from.push(gapStart);
    to.push(ends.at(-1)!);
  }
  return { text, span: (start, end) => [from[start]!, to[end - 1]!] };
}

/** How the words of a pattern are written in a reading. */
export function foldWord(word: string): string {
  return /[^a-z]/.test(word) ? Array.from(word, foldChar).join('') : word;
}

function foldPlain(chars: readonly string[], i: number): string {
  return foldChar(chars[i]!);
}

function foldLookAlike(chars: readonly string[], i: number): string {
  const char = chars[i]!;
  const code = char.charCodeAt(0);
  if (code < 0x80) {
    if (!LEET_SIGN[code]) return ASCII[code]!;
    const inWord = isLetter(chars[i - 1] ?? '') || isLetter(chars[i + 1] ?? '');
    return (inWord && leetFor(char)) || ASCII[code]!;
  }
  const same = looksLike(char);
  if (same) return same;
  const folded = foldChar(char);
  return folded.length === 1
    ? (looksLike(folded) ?? folded)
    : Array.from(folded, (c) => looksLike(c) ?? c).join('');
}

const ASCII = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code).toLowerCase());
const LEET_SIGN = ASCII.map((char) => leetFor(char) !== undefined);
/** By code: the separator that an ASCII character is; nothing for letters and digits. */
const ASCII_SEPARATOR = ASCII.map((char) =>
  /[a-z0-9]/.test(char) ? '' : char === '\n' ? '\n' : char === ':' ? ':' : /[.!?;]/.test(char) ? '.' : ' ',
);

function foldChar(char: string): string {
  const code = char.charCodeAt(0);
  if (code < 0x80) return ASCII[code]!;
  const bare = withoutMarks(char.normalize('NFKD'), char).toLowerCase();
  return bare.length === 1
    ? (wholeLetter(bare) ?? bare)
    : Array.from(bare, (c) => wholeLetter(c) ?? c).join('');
}

/** What a character is between words: nothing where it is part of one. */
function separatorOf(char: string): string {
  const code = char.charCodeAt(0);
  if (code < 0x80) return ASCII_SEPARATOR[code]!;
  if (isWordChar(char)) return '';
  return /[。！？；।؟]/.test(char) ? '.' : ' ';
}
