import { STOP_WORDS } from '../../base/stop-words.ts';

/** Lower-case prefixes of the words that a text is about. */
export type Topic = readonly string[];

/**
 * Returns words by their first six letters, so that `authentication` matches `authenticate`, without stop words and
 * short words: up to three letters, or one character in scripts without letter case.
 */
export function topicOf(text: string): Topic {
  const long = wordsOf(text.toLowerCase()).filter(
    (word) => word.length > (isCased(word[0]) ? 3 : 1) && !STOP_WORDS.has(word),
  );
  return [...new Set(long.map((word) => word.slice(0, 6)))];
}

function wordsOf(text: string): string[] {
  // Opening the segmenter's dictionaries takes milliseconds, which a hook does not need for plain English.
  if (!/[^\0-\x7f]/.test(text)) return text.match(/[a-z0-9]+/g) ?? [];
  const words: string[] = [];
  let joins = false;
  for (const { segment, isWordLike } of new Intl.Segmenter(undefined, { granularity: 'word' }).segment(
    text,
  )) {
    const single = isWordLike === true && segment.length === 1 && !isCased(segment);
    // The segmenter returns an unknown word as single characters.
    if (single && joins) words.push(words.pop() + segment);
    else if (isWordLike) words.push(segment);
    joins = single;
  }
  return words;
}

/**
 * Counts the words of a topic that a text contains. In scripts with letter case a match must start a word; other
 * scripts often have no spaces, or put an article before a word.
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
