import { FILLERS } from '../../base/fillers.ts';

/** The beginnings of the words that something is about, in small letters. */
export type Topic = readonly string[];

/**
 * Words by their first six letters, so that `authentication` is like `authenticate`; without fillers and what is too short to say
 * much: three letters, or one sign where a sign is a syllable or a word.
 */
export function topicOf(text: string): Topic {
  const long = wordsOf(text.toLowerCase()).filter(
    (word) => word.length > (isCased(word[0]) ? 3 : 1) && !FILLERS.has(word),
  );
  return [...new Set(long.map((word) => word.slice(0, 6)))];
}

function wordsOf(text: string): string[] {
  // The dictionaries of the segmenter take milliseconds to open, which a hook has no use for in plain English.
  if (!/[^\0-\x7f]/.test(text)) return text.match(/[a-z0-9]+/g) ?? [];
  const words: string[] = [];
  let joins = false;
  for (const { segment, isWordLike } of new Intl.Segmenter(undefined, { granularity: 'word' }).segment(
    text,
  )) {
    const single = isWordLike === true && segment.length === 1 && !isCased(segment);
    // A word that the dictionary does not have comes in single signs.
    if (single && joins) words.push(words.pop() + segment);
    else if (isWordLike) words.push(segment);
    joins = single;
  }
  return words;
}

/**
 * How many words of a topic a text has. In scripts with small and capital letters a word must begin there; others often
 * have no spaces between words, or put an article before them.
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
