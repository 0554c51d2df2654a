import { MARKS, SPACED_WORDS, WORDS } from './frequent-words.ts';

/**
 * At most how many tokens of o200k_base a text is, proven and quick: the tokenizer cuts a text into pieces by a pattern and
 * never joins two of them; a piece it knows whole is one token; no byte makes more than one; and of two letters that
 * make a token together it never leaves both alone, so three letters make two tokens at most.
 */
export function tokensAtMost(text: string): number {
  let sum = 0;
  for (const [piece] of text.matchAll(PIECES)) sum += pieceAtMost(piece);
  return sum;
}

/**
 * How o200k_base cuts ASCII. Words with anything else in them are taken as a whole, with what stands directly around them,
 * and counted by their bytes: the classes of Unicode characters alone take longer to prepare than a hook may.
 */
const PIECES =
  /[^\S\r\n]?[!-~]*[^\x00-\x7f]\S*[\r\n]*|[^\r\nA-Za-z0-9]?[A-Z]*[a-z]+(?:'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL]))?|[^\r\nA-Za-z0-9]?[A-Z]+[a-z]*(?:'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL]))?|[0-9]{1,3}| ?[^\sA-Za-z0-9]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+/g;

/** The pairs of small letters that are no token of their own. */
const LOOSE_PAIRS = /bq|gk|gq|jv|jz|kq|kz|lq|nq|qf|qg|qj|qk|qv|qz|rj|tq|wq|wz|xg|xj|xk|xq|xv|xw|yq|zj|zq|zv/;

let known: { words: Set<string>; spaced: Set<string>; marks: Set<string> } | null = null;

/** By hand rather than by patterns: each of these would have to be prepared first. */
function pieceAtMost(piece: string): number {
  const { length } = piece;
  if (length === 1 && piece < '\u0080') return 1;
  known ??= { words: listed(WORDS), spaced: listed(SPACED_WORDS), marks: new Set(MARKS) };
  const space = piece.charCodeAt(0) === SPACE ? 1 : 0;
  const capital = isBetween(piece, space, 'A', 'Z') ? 1 : 0;
  const from = space + capital;
  if (from === length || !all(piece, from, 'a', 'z')) return otherAtMost(piece, known.marks);
  const word = space === 1 ? piece.slice(1) : piece;
  if (known.words.has(capital === 1 ? word.toLowerCase() : word)) return 1;
  if (capital === 0 && space === 1 && known.spaced.has(word)) return 1;
  const loose = LOOSE_PAIRS.test(word);
  // A letter behind a space, or two letters, are one token where they are the whole piece.
  if (capital === 0 && length <= 2 && !loose) return 1;
  if (capital === 1) return from + (loose ? length - from : Math.ceil(((length - from) * 2) / 3));
  return loose ? length : Math.ceil((length * 2) / 3);
}

/** Up to three digits, and up to sixteen spaces, are one token too. */
function otherAtMost(piece: string, marks: ReadonlySet<string>): number {
  if (marks.has(piece) || all(piece, 0, '0', '9')) return 1;
  return piece.length <= 16 && all(piece, 0, ' ', ' ') ? 1 : bytes(piece);
}

const SPACE = 0x20;

function all(text: string, from: number, first: string, last: string): boolean {
  for (let i = from; i < text.length; i++) if (!isBetween(text, i, first, last)) return false;
  return true;
}

function isBetween(text: string, at: number, first: string, last: string): boolean {
  const char = text[at];
  return char !== undefined && char >= first && char <= last;
}

function listed(words: string): Set<string> {
  return new Set(words.trim().split(/\s+/));
}

/** The same count as an encoder's, without one. */
function bytes(text: string): number {
  let count = text.length;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    // Half of a pair counts two, so that both make the four bytes they are; alone it becomes U+FFFD, of three.
    if (code > 0x7f) count += code < 0x800 || (code >= 0xd800 && code < 0xe000 && paired(text, i)) ? 1 : 2;
  }
  return count;
}

function paired(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  const other = text.charCodeAt(code < 0xdc00 ? at + 1 : at - 1);
  return code < 0xdc00 ? other >= 0xdc00 && other < 0xe000 : other >= 0xd800 && other < 0xdc00;
}
