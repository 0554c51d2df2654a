import { MARKS, SPACED_WORDS, WORDS } from './frequent-words.ts';

/**
 * At most how many tokens of o200k_base a text is, proven and quick: the tokenizer cuts a text into pieces by a pattern and
 * never joins two of them; a piece it knows whole is one token; no byte makes more than one; and of two letters that
 * make a token together it never leaves both alone, so three letters make two tokens at most.
 */
export function tokensAtMost(text: string): number {
  let sum = 0;
  for (const [piece] of text.matchAll(/^[\x00-\x7f]*$/.test(text) ? ASCII_PIECES : PIECES))
    sum += pieceAtMost(piece);
  return sum;
}

/** How o200k_base cuts a text. */
const PIECES =
  /[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?:'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL]))?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?:'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL]))?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+/gu;

/** The same for plain ASCII; made in a tenth of the time. */
const ASCII_PIECES =
  /[^\r\nA-Za-z0-9]?[A-Z]*[a-z]+(?:'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL]))?|[^\r\nA-Za-z0-9]?[A-Z]+[a-z]*(?:'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL]))?|[0-9]{1,3}| ?[^\sA-Za-z0-9]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+/g;

/** The pairs of small letters that are no token of their own. */
const LOOSE_PAIRS = /bq|gk|gq|jv|jz|kq|kz|lq|nq|qf|qg|qj|qk|qv|qz|rj|tq|wq|wz|xg|xj|xk|xq|xv|xw|yq|zj|zq|zv/;

let known: { words: Set<string>; spaced: Set<string>; marks: Set<string> } | null = null;

function pieceAtMost(piece: string): number {
  if (piece.length === 1 && piece < '\u0080') return 1;
  if (/^[0-9]{2,3}$/.test(piece) || /^ {2,16}$/.test(piece)) return 1;
  known ??= { words: listed(WORDS), spaced: listed(SPACED_WORDS), marks: new Set(MARKS) };
  const word = /^( ?)([A-Z]?)([a-z]+)$/.exec(piece);
  if (!word) return known.marks.has(piece) ? 1 : bytes(piece);
  const [, space, capital, rest] = word as unknown as [string, string, string, string];
  if (known.words.has(capital.toLowerCase() + rest)) return 1;
  if (space && !capital && known.spaced.has(rest)) return 1;
  // A letter behind a space, or two letters, are one token where they are the whole piece.
  if (!capital && space.length + rest.length <= 2 && !LOOSE_PAIRS.test(rest)) return 1;
  const letters = capital ? rest : space + rest;
  const most = LOOSE_PAIRS.test(rest) ? letters.length : Math.ceil((letters.length * 2) / 3);
  return most + (capital ? space.length + 1 : 0);
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
