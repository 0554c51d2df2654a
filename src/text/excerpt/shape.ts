/** Maximum number of characters and of words that decide the shape of a line. */
const SHAPE_CHARS = 240;
const SHAPE_WORDS = 10;

/**
 * Matches a quoted text, a word with its separator or with `=` and a value, another word, or a single quote.
 * The search takes linear time, because an alternative that fails has read at most one word or quoted text.
 */
const WORD = /(["'`])[^"'`]*\1|[^\s"'`=:,([]*(?:=\S*|[:,([])|[^\s"'`=:,([]+|["'`]/g;
const VARIABLE = /^["'`/~]|\d/;

/**
 * Returns a hash of a line without its variable parts: numbers, words with digits, paths, quoted texts and values
 * after `=`. Lines with equal hashes are similar.
 */
export function shapeOf(text: string): number {
  let hash = 0x811c9dc5;
  let wordCount = 0;
  for (const [word] of text.slice(0, SHAPE_CHARS).matchAll(WORD)) {
    const name = word.replace(/=.*$/, '=');
    const isPath = name.includes('.') && /[/\\]/.test(name);
    const fixed = isPath || VARIABLE.test(name) ? '#' : name;
    for (let at = 0; at < fixed.length; at++) hash = Math.imul(hash ^ fixed.charCodeAt(at), 0x01000193);
    if (fixed !== '#' && ++wordCount === SHAPE_WORDS) break;
  }
  return hash >>> 0;
}
