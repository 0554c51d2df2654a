import { FILLERS } from '../base/fillers.ts';
import type { JsonObject } from '../base/json.ts';
import { type Hit, textKey } from './search-index.ts';

/** What may be shown of a text: a few sentences, a few lines, or a row of a table. */
const PASSAGE_CHARS = 480;
/** A line longer than this is read in pieces. */
const PIECE_CHARS = 240;
/** Passages of one text in one answer, of all its sections together. */
const OF_ONE_TEXT = 10;
/** What is worth less than this share of the best is left out: one common word of several that were asked for. */
const WORTH = 0.5;
/** Different words of a query that are looked up; what so many do not tell apart, more do not. */
const QUERY_TERMS = 64;

/** A word of a query, as texts are searched for it: without case, diacritics and ending. */
export interface Term {
  readonly text: string;
  /** `begin`: any word that begins so; `word`: that word alone; `letters`: of a script without spaces, wherever they touch. */
  readonly finds: 'begin' | 'word' | 'letters';
}

export interface Candidate {
  readonly key: string;
  readonly text: string;
  readonly fields: JsonObject;
}

/** Letters of scripts that are written without spaces. */
export const unspaced = () =>
  /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}\p{scx=Hang}]\p{M}*/gu;

const words = () => /[\p{L}\p{N}\p{Co}][\p{L}\p{N}\p{Co}\p{M}]*/gu;

/**
 * Words find their other forms: `entries` finds `entry`, `failed` finds `fails`. The last may still be under way. Fillers count only
 * where there is nothing else.
 */
export function queryTerms(query: string): Term[] {
  const all = [...query.toWellFormed().matchAll(words())].map(([word]) => word);
  const telling = all.filter((word) => !FILLERS.has(word.toLowerCase()));
  const found = telling.length > 0 ? telling : all;
  const terms = found.flatMap((word, i): Term[] => {
    const letters = word.match(unspaced());
    if (letters && letters.length > 1) {
      return letters.slice(1).map((letter, k) => ({ text: fold(letters[k]! + letter), finds: 'letters' }));
    }
    if (letters) return [{ text: fold(word), finds: 'letters' }];
    const folded = fold(word);
    if (folded.length >= 3) return [{ text: stem(folded), finds: 'begin' }];
    return [{ text: folded, finds: i === found.length - 1 ? 'begin' : 'word' }];
  });
  const different = new Map(terms.map((term) => [`${term.finds} ${term.text}`, term]));
  return [...different.values()].slice(0, QUERY_TERMS);
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
  /** Which terms it has, by their place in the query. */
  readonly has: readonly number[];
}

/** The passages with most of the terms, rare terms counting more, best first. */
export function rankPassages(candidates: readonly Candidate[], terms: readonly Term[], limit: number): Hit[] {
  // Only texts with a word of the query count, so that a score does not depend on which others an engine read.
  const read = candidates
    .map((candidate) => ({ candidate, pieces: piecesOf(candidate.text, terms) }))
    .filter(({ pieces }) => pieces.some(({ has }) => has.length > 0));
  const having = new Map<number, number>();
  let all = 0;
  for (const { pieces } of read) {
    all += pieces.length;
    for (const { has } of pieces) for (const i of has) having.set(i, (having.get(i) ?? 0) + 1);
  }
  const weights = terms.map((_, i) => (having.has(i) ? Math.log(1 + all / having.get(i)!) : 0));
  const hits = read.flatMap(({ candidate, pieces }) =>
    spansOf(pieces, weights).map((span) => hitOf(candidate, pieces, span, terms)),
  );
  hits.sort((a, b) => b.score - a.score);
  const least = (hits[0]?.score ?? 0) * WORTH;
  const shown = new Map<string, number>();
  const isShown = ({ key }: Hit) => {
    const text = textKey(key);
    const before = shown.get(text) ?? 0;
    shown.set(text, before + 1);
    return before < OF_ONE_TEXT;
  };
  return hits.filter((hit) => hit.score >= least && isShown(hit)).slice(0, limit);
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

/** Behind the last sentence that fits, else behind the last space or comma, else wherever the piece is full. */
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

/** The `P` of `boilingPoint` begins a word too. */
function isStart(piece: string, folded: string, at: number): boolean {
  if (!isWord(folded[at - 1])) return true;
  return (
    folded.length === piece.length && /\p{Lu}/u.test(piece[at]!) && /[\p{Ll}\p{N}]/u.test(piece[at - 1]!)
  );
}

function isWord(char: string | undefined): boolean {
  return char !== undefined && /[\p{L}\p{N}\p{Co}]/u.test(char);
}

/** Pieces from `first` to `last`. */
interface Span {
  readonly first: number;
  readonly last: number;
  readonly worth: number;
}

/** The best stretches of a text, each with what is around it. None begins or ends inside what another one shows. */
function spansOf(pieces: readonly Piece[], weights: readonly number[]): Span[] {
  const spans: Span[] = [];
  for (const [first, { start, has }] of pieces.entries()) {
    if (has.length === 0) continue;
    const held = new Set<number>();
    let span: Span = { first, last: first, worth: 0 };
    for (let last = first; last < pieces.length && pieces[last]!.end - start <= PASSAGE_CHARS; last++) {
      const news = pieces[last]!.has.filter((i) => !held.has(i));
      for (const i of news) held.add(i);
      const more = news.reduce((sum, i) => sum + weights[i]!, 0);
      if (more > 0) span = { first, last, worth: span.worth + more };
    }
    spans.push(span);
  }
  // Of two with the same words the one on fewer lines: a row of a table says more than the end of one and the begin of the next.
  const lines = ({ first, last }: Span) => pieces[last]!.line - pieces[first]!.line;
  spans.sort((a, b) => b.worth - a.worth || lines(a) - lines(b) || a.last - a.first - (b.last - b.first));
  const chosen: Span[] = [];
  for (const span of spans) {
    if (chosen.length === OF_ONE_TEXT) break;
    const apart = chosen.every(({ first, last }) => span.last < first || span.first > last);
    if (apart) chosen.push(withContext(span, pieces));
  }
  return chosen;
}

/** With as much before it as behind it, up to what may be shown. */
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
  const shown = text.slice(pieces[first]!.start, pieces[last]!.end);
  const { marked, share } = mark(shown, terms);
  const snippet = `${first > 0 ? '…' : ''}${marked.trim()}${last < pieces.length - 1 ? '…' : ''}`;
  return { key, score: worth * (1 + share / 10), snippet, line: pieces[first]!.line, fields };
}

/** The text with what matched between U+0002 and U+0003, and the share of its words that did. */
function mark(text: string, terms: readonly Term[]): { marked: string; share: number } {
  let [count, matched] = [0, 0];
  const marked = text.replace(words(), (word) => {
    count++;
    if (termsIn(word, terms).length === 0) return word;
    matched++;
    return `\u0002${word}\u0003`;
  });
  return { marked, share: count === 0 ? 0 : matched / count };
}
