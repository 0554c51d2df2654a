import { count, plural } from '../../base/format.ts';

/** Facts about an output, for the last line of its excerpt. */
export interface LastLineFacts {
  readonly lines: number;
  readonly tokens: number;
  /** Number of the first line that was not stored. */
  readonly cut?: number;
  readonly exit?: number | null;
}

/**
 * The command in the last line of an excerpt reads the first omitted line and at most this many lines after
 * it.
 */
const SAMPLE_LINES = 60;

/**
 * Returns the last line of an excerpt: `[relay:128 · 4,812 lines · 61,204 tokens · exit 1 · relay pull 128 --lines
 * 13-73 | --grep PATTERN | --question TEXT | --outline]`. `pull` formats the command that reads lines. `omitted` is
 * the first range of lines that the excerpt omits.
 */
export function lastLine(
  handle: string,
  about: LastLineFacts,
  omitted: { readonly from: number; readonly to: number } = { from: 1, to: about.lines },
  pull: (number: string, lines: string) => string,
): string {
  const to = Math.min(omitted.to, omitted.from + SAMPLE_LINES);
  const facts = [
    handle,
    plural(about.lines, 'line'),
    plural(about.tokens, 'token'),
    about.cut === undefined ? null : `nothing stored from line ${count(about.cut)} on`,
    (about.exit ?? null) === null ? null : `exit ${about.exit}`,
    `${pull(handle.replace(/^relay:/, ''), `${omitted.from}-${to}`)} | --grep PATTERN | --question TEXT | --outline`,
  ];
  return `[${facts.filter((fact) => fact !== null).join(' · ')}]`;
}

/** Number of characters at the end of a text that may contain the last line of an excerpt. */
export const LAST_LINE_CHARS = 1024;
const LAST_LINE = /(?:^|\n)\[relay:\d+ · [^\n]* tokens? · [^\n]* pull \d+ [^\n]* \| --outline\]\n?$/;

/** Returns whether a text ends with the last line of an excerpt, as in `ssh host relay tee … | relay tee`. */
export function endsWithLastLine(text: string): boolean {
  return LAST_LINE.test(text.slice(-LAST_LINE_CHARS));
}

/** Matches a shell line that pulls text. The output of such a line is not shortened again. */
export const PULLS = /\b(?:context)?relay\b.* pull\b/;
