/** Returns the candidate that a mistyped or abbreviated word most likely stands for, or null. */
export function nearest(word: string, candidates: readonly string[]): string | null {
  return nearestFew(word, candidates, 1)[0] ?? null;
}

/** Returns up to `most` candidates that a mistyped or abbreviated word may stand for, the most likely first. */
export function nearestFew(word: string, candidates: readonly string[], most: number): string[] {
  const near = Math.max(1, Math.floor(word.length / 3));
  const isStart = (candidate: string) => word.length >= 2 && candidate.startsWith(word);
  return candidates
    .map((name) => ({ name, distance: isStart(name) ? 1 : editDistance(word, name) }))
    .filter(({ distance }) => distance <= near)
    .sort((a, b) => a.distance - b.distance)
    .slice(0, most)
    .map(({ name }) => name);
}

/**
 * Returns the Damerau–Levenshtein distance of two words. Swapping two neighbouring letters counts as one
 * edit.
 */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      row[j] = Math.min(previous[j]! + 1, row[j - 1]! + 1, previous[j - 1]! + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        row[j] = Math.min(row[j]!, before[j - 2]! + 1);
      }
    }
    before = previous;
    previous = row;
  }
  return previous[b.length]!;
}
