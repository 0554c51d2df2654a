/** Names of kinds that have caused bugs: wildcards, quotes, slashes, foreign scripts, great length. */
export const ODD_NAMES: readonly string[] = [
  'plain',
  'with space',
  '100%',
  'under_score',
  'a*b?c[d]',
  '>.<',
  "it's",
  '"quoted"',
  '`tick`; DROP TABLE records; --',
  'back\\slash',
  'new\nline\ttab',
  '..',
  '../../escape',
  'a//b',
  'trailing/',
  'UPPER',
  'upper',
  'ünïcödé',
  'e\u0301',
  '\u00e9',
  '名前',
  'имя',
  'اسم',
  '👩‍👩‍👧',
  '\u200bzero-width',
  'CON',
  '.hidden',
  '~',
  '-rf',
  '$HOME',
  '__proto__',
  'constructor',
];

/** Keys in the order of their UTF-8 bytes. JavaScript's `<` orders the last two differently. */
export const IN_ORDER: readonly string[] = [
  '!',
  '0',
  '10',
  '2',
  'A',
  'B',
  '_',
  'a',
  'a/b',
  'aa',
  'b',
  'é',
  'я',
  '名',
  '\uff5e',
  '😀',
];

/** Returns a key of the maximum length: 2048 bytes, with two-byte letters after the prefix. */
export function longestKey(prefix: string): string {
  const room = 2048 - new TextEncoder().encode(prefix).length;
  return prefix + 'x'.repeat(room % 2) + 'é'.repeat(Math.floor(room / 2));
}

/** Shuffles in a fixed way, so that a failure can be repeated. */
export function shuffled<T>(items: readonly T[]): T[] {
  const result = [...items];
  let seed = 42;
  for (let i = result.length - 1; i > 0; i--) {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    const j = seed % (i + 1);
    [result[i], result[j]] = [result[j]!, result[i]!];
  }
  return result;
}

export function range(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i);
}
