import type { JsonObject } from '../base/json.ts';
import { STOP_WORDS } from '../base/stop-words.ts';
import { type Hit, textKey } from './search-index.ts';

/** Maximum length of a passage in characters: a few sentences, a few lines, or one table row. */
const PASSAGE_CHARS = 480;
/** Maximum length of a piece in characters. Longer lines are split into several pieces. */
const PIECE_CHARS = 240;
/** Maximum number of passages per text in a result. All sections of the text count together. */
const PASSAGES_PER_TEXT = 10;
/** Minimum score of a passage, as a share of the best score. Passages below it usually match only one common word. */
const MIN_SCORE_SHARE = 0.5;
/** Maximum number of different query terms. More terms hardly improve the ranking. */
const QUERY_TERMS = 64;

/** A query word as it is searched: in lower case, without diacritics and ending. */
export interface Term {
  readonly text: string;
  /**
   * Where the text must occur: `begin` at the start of a word, `word` as a whole word, `letters` anywhere (for
   * scripts without spaces).
   */
  readonly finds: 'begin' | 'word' | 'letters';
}

/** A text that is searched for passages. */
export interface Candidate {
  readonly key: string;
  readonly text: string;
  readonly fields: JsonObject;
}

/** Returns a pattern for letters of scripts that are written without spaces. */
export const unspaced = () =>
  /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}\p{scx=Hang}]\p{M}*/gu;

const wordPattern = () => /[\p{L}\p{N}\p{Co}][\p{L}\p{N}\p{Co}\p{M}]*/gu;

/**
 * Splits a query into terms. Removes endings, so that `entries` matches `entry` and `failed` matches `fails`. A last
 * word of one or two letters also matches longer words that begin with it, because the user may still be typing it. If
 * the query ends with `.`, `?` or `!`, such a last word matches only whole words. Stop words are dropped, except from a
 * query that consists only of stop words.
 */
export function queryTerms(query: string): Term[] {
  const all = [...query.toWellFormed().matchAll(wordPattern())].map(([word]) => word);
  const significant = all.filter((word) => !STOP_WORDS.has(word.toLowerCase()));
  const chosen = significant.length > 0 ? significant : all;
  const isTyping = !/[.?!]\s*$/.test(query);
  const terms = chosen.flatMap((word, i): Term[] => {
    const letters = word.match(unspaced());
    if (letters && letters.length > 1) {
      return letters.slice(1).map((letter, k) => ({ text: fold(letters[k]! + letter), finds: 'letters' }));
    }
    if (letters) return [{ text: fold(word), finds: 'letters' }];
    const folded = fold(word);
    if (folded.length >= 3) return [{ text: stem(folded), finds: 'begin' }];
    return [{ text: folded, finds: isTyping && i === chosen.length - 1 ? 'begin' : 'word' }];
  });
  const unique = new Map(terms.map((term) => [`${term.finds} ${term.text}`, term]));
  return [...unique.values()].slice(0, QUERY_TERMS);
}

function fold(text: string): string {
  if (/^[\x00-\x7f]*$/.test(text)) return text.toLowerCase();
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
}

function stem(word: string): string {
  const rest = word.replace(/(?:ies|ied|ing|ed|es|s|e|y)$/, '');
  return rest.length >= 3 ? rest : word;
}

interface Piece {
  readonly start: number;
  readonly end: number;
  readonly line: number;
  /** Indexes of the query terms that the piece contains. */
  readonly has: readonly number[];
}

/** Returns the passages that contain most of the terms, best first. Rare terms have more weight. */
export function rankPassages(candidates: readonly Candidate[], terms: readonly Term[], limit: number): Hit[] {
  // Ignore texts without a match. Each engine reads different texts as candidates, and their number would
  // otherwise change the scores, which must be equal on all engines.
  const matching = candidates
    .map((candidate) => ({ candidate, pieces: piecesOf(candidate.text, terms) }))
    .filter(({ pieces }) => pieces.some(({ has }) => has.length > 0));
  const piecesWithTerm = new Map<number, number>();
  let pieceCount = 0;
  for (const { pieces } of matching) {
    pieceCount += pieces.length;
    for (const { has } of pieces)
      for (const i of has) piecesWithTerm.set(i, (piecesWithTerm.get(i) ?? 0) + 1);
  }
  const weights = terms.map((_, i) =>
    piecesWithTerm.has(i) ? Math.log(1 + pieceCount / piecesWithTerm.get(i)!) : 0,
  );
  const hits = matching.flatMap(({ candidate, pieces }) =>
    spansOf(pieces, weights).map((span) => hitOf(candidate, pieces, span, terms)),
  );
  hits.sort((a, b) => b.score - a.score);
  const minScore = (hits[0]?.score ?? 0) * MIN_SCORE_SHARE;
  const hitsPerText = new Map<string, number>();
  const isWithinTextLimit = ({ key }: Hit) => {
    const text = textKey(key);
    const before = hitsPerText.get(text) ?? 0;
    hitsPerText.set(text, before + 1);
    return before < PASSAGES_PER_TEXT;
  };
  return hits.filter((hit) => hit.score >= minScore && isWithinTextLimit(hit)).slice(0, limit);
}

function piecesOf(text: string, terms: readonly Term[]): Piece[] {
  const pieces: Piece[] = [];
  let line = 1;
  for (let start = 0; start < text.length; ) {
    const feed = text.indexOf('\n', start);
    const lineEnd = feed < 0 ? text.length : feed + 1;
    const end = lineEnd - start > PIECE_CHARS ? pieceEnd(text, start, lineEnd) : lineEnd;
    pieces.push({ start, end, line, has: termsIn(text.slice(start, end), terms) });
    if (end === lineEnd) line++;
    start = end;
  }
  return pieces;
}

/**
 * Returns where to cut a long line: after the last sentence that fits, otherwise after the last space or comma,
 * otherwise at the length limit.
 */
function pieceEnd(text: string, start: number, lineEnd: number): number {
  const most = Math.min(start + PIECE_CHARS, lineEnd);
  const piece = text.slice(start, most);
  const sentence = Math.max(piece.lastIndexOf('. '), piece.lastIndexOf('; '), piece.lastIndexOf('。'));
  const pause = Math.max(sentence, piece.lastIndexOf(' '), piece.lastIndexOf(','));
  const cut = sentence > PIECE_CHARS / 2 ? sentence : pause;
  return cut > 0 ? start + cut + 1 : most;
}

function termsIn(piece: string, terms: readonly Term[]): number[] {
  const folded = fold(piece);
  const has: number[] = [];
  for (const [i, { text, finds }] of terms.entries()) {
    for (let at = folded.indexOf(text); at >= 0; at = folded.indexOf(text, at + 1)) {
      if (finds !== 'letters' && !isStart(piece, folded, at)) continue;
      if (finds === 'word' && isWord(folded[at + text.length])) continue;
      has.push(i);
      break;
    }
  }
  return has;
}

/** Returns whether a word starts at this position. In camel case, the `P` of `boilingPoint` also starts a word. */
function isStart(piece: string, folded: string, at: number): boolean {
  if (!isWord(folded[at - 1])) return true;
  return (
    folded.length === piece.length && /\p{Lu}/u.test(piece[at]!) && /[\p{Ll}\p{N}]/u.test(piece[at - 1]!)
  );
}

function isWord(char: string | undefined): boolean {
  return char !== undefined && /[\p{L}\p{N}\p{Co}]/u.test(char);
}

/** The pieces from index `first` to index `last`, both included. */
interface Span {
  readonly first: number;
  readonly last: number;
  /** Sum of the weights of the terms in the span. */
  readonly worth: number;
}

/**
 * Returns the best spans of a text, each extended with the pieces around it. Skips a span that overlaps a better one.
 */
function spansOf(pieces: readonly Piece[], weights: readonly number[]): Span[] {
  const spans: Span[] = [];
  for (const [first, { start, has }] of pieces.entries()) {
    if (has.length === 0) continue;
    const seen = new Set<number>();
    let span: Span = { first, last: first, worth: 0 };
    for (let last = first; last < pieces.length && pieces[last]!.end - start <= PASSAGE_CHARS; last++) {
      const newTerms = pieces[last]!.has.filter((i) => !seen.has(i));
      for (const i of newTerms) seen.add(i);
      const more = newTerms.reduce((sum, i) => sum + weights[i]!, 0);
      if (more > 0) span = { first, last, worth: span.worth + more };
    }
    spans.push(span);
  }
  // At equal worth prefer the span on fewer lines: one table row is clearer than parts of two rows.
  const lines = ({ first, last }: Span) => pieces[last]!.line - pieces[first]!.line;
  spans.sort((a, b) => b.worth - a.worth || lines(a) - lines(b) || a.last - a.first - (b.last - b.first));
  const chosen: Span[] = [];
  for (const span of spans) {
    if (chosen.length === PASSAGES_PER_TEXT) break;
    const apart = chosen.every(({ first, last }) => span.last < first || span.first > last);
    if (apart) chosen.push(withContext(span, pieces));
  }
  return chosen;
}

/** Extends a span by the pieces around it, up to `PASSAGE_CHARS`. */
function withContext({ worth, ...span }: Span, pieces: readonly Piece[]): Span {
  let { first, last } = span;
  const fits = (from: number, to: number) =>
    from >= 0 && to < pieces.length && pieces[to]!.end - pieces[from]!.start <= PASSAGE_CHARS;
  for (let grown = true; grown; ) {
    grown = false;
    if (fits(first, last + 1)) [last, grown] = [last + 1, true];
    if (fits(first - 1, last)) [first, grown] = [first - 1, true];
  }
  return { first, last, worth };
}

function hitOf(
  { key, text, fields }: Candidate,
  pieces: readonly Piece[],
  { first, last, worth }: Span,
  terms: readonly Term[],
): Hit {
  const passage = text.slice(pieces[first]!.start, pieces[last]!.end);
  const matched = new Set(pieces.slice(first, last + 1).flatMap(({ has }) => has));
  const { marked, share } = mark(
    passage,
    terms.filter((_, i) => matched.has(i)),
  );
  const snippet = `${first > 0 ? '…' : ''}${marked.trim()}${last < pieces.length - 1 ? '…' : ''}`;
  return { key, score: worth * (1 + share / 10), snippet, line: pieces[first]!.line, fields };
}

/** Puts each matching word between U+0002 and U+0003. `share` is the share of the words that match. */
function mark(text: string, terms: readonly Term[]): { marked: string; share: number } {
  let [count, matched] = [0, 0];
  const marked = text.replace(wordPattern(), (word) => {
    count++;
    if (termsIn(word, terms).length === 0) return word;
    matched++;
    return `\u0002${word}\u0003`;
  });
  return { marked, share: count === 0 ? 0 : matched / count };
}
