/**
 * Stands for the escape character in what this program itself says to a terminal, until it is written. Whoever wrote the
 * texts that are shown beside it cannot guess the number, so whatever else looks like an escape code is somebody else's.
 */
export const ESCAPE = `\u001b${Math.random().toString(36).slice(2)};`;

/** A text of anybody's as a terminal may get it: control characters are shown, not obeyed. */
export function shown(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(
      /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g,
      (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
}
