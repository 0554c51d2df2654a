/** Filter that selects the items of a list by the words of a search. */
export interface WordFilter {
  /** Returns whether the text contains all words, in any case. */
  matches(text: string): boolean;
  /**
   * The longest run of letters, digits and `._:/-` in the words. JSON escapes none of these characters, so the run is
   * the hint `contains` of `Records.list`. Absent if no word has such a run.
   */
  readonly contains?: string;
}

/** Makes a filter from the words of `q`. Without words, every text matches. */
export function wordFilter(q = ''): WordFilter {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  const plain = words.flatMap((word) => word.match(/[\p{L}\p{N}._:/-]+/gu) ?? []);
  const longest = plain.reduce((best, part) => (part.length > best.length ? part : best), '');
  return {
    matches: (text) => {
      const lower = text.toLowerCase();
      return words.every((word) => lower.includes(word));
    },
    ...(longest === '' ? {} : { contains: longest }),
  };
}
