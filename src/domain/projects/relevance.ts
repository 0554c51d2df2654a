/** How many of the words that carry meaning two texts share; the beginning of a word is enough. */
export function relevance(about: ReadonlySet<string>, text: string): number {
  let shared = 0;
  for (const stem of stems(text)) if (about.has(stem)) shared++;
  return shared;
}

/** `authentication` and `authenticate` meet in their first letters; short words and fillers do not count. */
export function stems(text: string): Set<string> {
  // Where scripts have their letters, about: the classes of Unicode would take milliseconds to prepare.
  const words =
    text.toLowerCase().match(/[a-z0-9\u00c0-\u1fff\u2c00-\u2dff\u3040-\ufdff\uff10-\uffdc]+/g) ?? [];
  return new Set(
    words
      .filter((word) => (word.length > 3 || /[^a-z]/.test(word)) && !FILLERS.has(word))
      .map((word) => (/^[a-z]+$/.test(word) ? word.slice(0, 6) : word)),
  );
}

const FILLERS = new Set(
  'about after again also been before being between could does done each every from have into just like made make more most must only other over same should some such than that their them then there these they this through under until very want were what when where which while will with would your'.split(
    ' ',
  ),
);
