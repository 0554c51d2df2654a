/** Different words of a query that are looked up; each costs a walk, and what so many do not tell apart, more do not. */
const QUERY_WORDS = 64;

/**
 * Scripts that are written without spaces. FTS5 would take a whole sentence for one word, so each letter becomes a
 * word of its own, and letters that touch in a query must touch in the text.
 */
const unspaced = () =>
  /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}\p{scx=Hang}]\p{M}*/gu;

/** Separates words for FTS5 and nothing for a reader, so it can be taken out again. */
const SEAM = '\u200b';

/** A letter or digit: what FTS5 makes a word of. */
const word = () => /[\p{L}\p{N}\p{Co}]/u;

/** The text as it is indexed: marks of snippets taken out, and a seam around every letter of an unspaced script. */
export function segmented(text: string): string {
  const clean = text.toWellFormed().replace(/[\u0000\u0002\u0003\u200b]/g, ' ');
  return clean.replace(unspaced(), `${SEAM}$&${SEAM}`);
}

export function unsegmented(text: string): string {
  return text.replaceAll(SEAM, '');
}

/** A query as FTS5 takes it, every word quoted, the last one a prefix; null where there is no word in it. */
export function matchOf(query: string): string | null {
  const words = segmented(query)
    .split(/[^\p{L}\p{N}\p{Co}\p{M}\u200b]+/u)
    .filter((each) => word().test(each));
  const last = words.pop();
  if (last === undefined) return null;
  const whole = [...new Set(words)].slice(0, QUERY_WORDS).map((word) => `"${word}" AND `);
  return `${whole.join('')}"${last}"*`;
}
