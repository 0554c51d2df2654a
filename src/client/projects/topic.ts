import { STOP_WORDS } from '../../base/stop-words.ts';

/** Words that a text is about, in lower case and cut to six letters. */
export type Topic = readonly string[];

/**
 * Returns the words that a text is about. A plural `s` is removed and a word is cut to six letters. So
 * `limits` matches `limit`, and `authentication` matches `authenticate`. Stop words and short words are left
 * out. Short means at most three letters, or one character in scripts without upper and lower case.
 */
export function topicOf(text: string): Topic {
  const long = wordsOf(text.toLowerCase()).filter(
    (word) => word.length > (isCased(word[0]) ? 3 : 1) && !STOP_WORDS.has(word),
  );
  return [...new Set(long.map((word) => word.replace(/(?<=[a-z]{3}[^s])s$/, '').slice(0, 6)))];
}

function wordsOf(text: string): string[] {
  // Split plain English without the segmenter, because hooks must be fast and the segmenter takes
  // milliseconds to open its dictionaries.
  if (!/[^\0-\x7f]/.test(text)) return text.match(/[a-z0-9]+/g) ?? [];
  const words: string[] = [];
  let joins = false;
  for (const { segment, isWordLike } of new Intl.Segmenter(undefined, { granularity: 'word' }).segment(
    text,
  )) {
    const single = isWordLike === true && segment.length === 1 && !isCased(segment);
    // The segmenter splits an unknown word into single characters. Join these characters again.
    if (single && joins) words.push(words.pop() + segment);
    else if (isWordLike) words.push(segment);
    joins = single;
  }
  return words;
}

/**
 * Counts the words of a topic that a text contains. A match must be at the start of a word. In scripts without upper
 * and lower case, a match may be anywhere: such scripts often have no spaces, or write an article and its word
 * without a space.
 */
export function relevance(topic: Topic, text: string): number {
  const small = text.toLowerCase();
  return topic.filter((word) => {
    let at = small.indexOf(word);
    while (at > 0 && isCased(word[0]) && isCased(small[at - 1])) at = small.indexOf(word, at + 1);
    return at >= 0;
  }).length;
}

function isCased(char = ''): boolean {
  return char.toLowerCase() !== char.toUpperCase();
}
