import { STOP_WORDS } from '../../src/base/stop-words.ts';
import type { Excerpt } from '../../src/text/excerpt/excerpt.ts';
import type { PartRequest } from '../../src/text/parts/part-request.ts';
import { linesOf } from './corpus.ts';

/** Words that are frequent in questions, but rare near the answers. The search ignores them. */
const ASKING = new Set(
  'first last oldest newest long large size line lines file name happen happened there is whole together everything'.split(
    ' ',
  ),
);
/** Maximum number of lines of the excerpt that may contain a searched word. More common words are not searched. */
const COMMON_LINES = 5;
const CONTEXT_LINES = 3;
const PULLED_LINES = 120;

/**
 * Chooses what a reader would pull after seeing the question and the excerpt, but not the answer:
 *
 * 1. If the question contains names (with a digit, a capital inside, or one of `._/-=`), grep for them.
 * 2. Otherwise grep for the words of the question that are not common in the excerpt, in any inflection. If all words
 *    are common, grep for the rarest.
 * 3. Without words, pull omitted lines: the end of the last range if the question asks for the end, otherwise the start of
 *    the first range.
 */
export function choosePull(question: string, excerpt: Excerpt): PartRequest {
  const words = searchWords(question);
  if (words.length === 0) return { lines: omittedLines(question, excerpt) };
  const names = words.filter((word) => /[\d._/=-]|\p{Ll}\p{Lu}|\p{Lu}{2}/u.test(word));
  const excerptLines = linesOf(excerpt.text).map((line) => line.toLowerCase());
  const wordCounts = words
    .map((word) => ({
      word: stem(word),
      seen: excerptLines.filter((line) => line.includes(stem(word).toLowerCase())).length,
    }))
    .toSorted((a, b) => a.seen - b.seen);
  const rare = wordCounts.filter(({ seen }) => seen <= COMMON_LINES);
  const searchTerms =
    names.length > 0 ? names : (rare.length > 0 ? rare : wordCounts.slice(0, 1)).map(({ word }) => word);
  return { grep: searchTerms.map(escapePattern).join('|'), ignore_case: true, context: CONTEXT_LINES };
}

function searchWords(question: string): string[] {
  const words = /\p{Script=Han}|\p{Script=Katakana}|\p{Script=Hiragana}/u.test(question)
    ? [...new Intl.Segmenter('ja', { granularity: 'word' }).segment(question)]
        .filter(
          ({ isWordLike, segment }) =>
            isWordLike && segment.length > 1 && !/^\p{Script=Hiragana}+$/u.test(segment),
        )
        .map(({ segment }) => segment)
    : (question.match(/[\p{L}\p{N}_/][\p{L}\p{N}_./='{}-]*[\p{L}\p{N}_}]/gu) ?? []);
  return words.filter((word) => !STOP_WORDS.has(word.toLowerCase()) && !ASKING.has(word.toLowerCase()));
}

/** Removes a common English ending, so that a search finds other forms of the word. */
function stem(word: string): string {
  return word.replace(/(?<=\w{4})(?:ed|ing|es|s|'s)$/, '').replace(/([bdgmnprt])\1$/, '$1');
}

function omittedLines(question: string, { omitted, lines }: Excerpt): string {
  if (omitted.length === 0) return `1-${lines}`;
  if (/\b(?:last|end|oldest)\b/i.test(question)) {
    const { from, to } = omitted.at(-1)!;
    return `${Math.max(from, to - PULLED_LINES + 1)}-${to}`;
  }
  const { from, to } = omitted[0]!;
  return `${from}-${Math.min(to, from + PULLED_LINES - 1)}`;
}

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');
}
