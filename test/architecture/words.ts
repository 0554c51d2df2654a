import type { Finding, SourceFile } from './source-file.ts';

interface Rule {
  readonly pattern: RegExp;
  readonly what: string;
}

/** Written so that no rule finds itself here. */
const RULES: readonly Rule[] = [
  {
    pattern: /(?<![\w.:~-])\/(?:work|root)\/[\w.]/,
    what: 'names a place on somebody’s machine',
  },
  {
    pattern: /(?<![\w.:~-])\/(?:home|Users)\/[A-Za-z0-9_]/,
    what: 'names somebody’s home folder',
  },
  {
    // In a comment only: TODO-003 is the name of something in the project files.
    pattern: /(?:\/\/|\/\*|^\s*\*|#|<!--).*\b(?:T[O]DO|F[I]XME)\b(?!-\d)/,
    what: 'leaves something for later; do it, or open an issue',
  },
];

/** Words that belong to a machine or to a moment, not into a project. */
export function checkWords(files: readonly SourceFile[]): Finding[] {
  return files.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, i) =>
      RULES.filter(({ pattern }) => pattern.test(line)).map(({ what }) => ({
        path: `${path}:${i + 1}`,
        what,
      })),
    ),
  );
}
