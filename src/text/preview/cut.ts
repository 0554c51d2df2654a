import { utf8Bytes } from '../../base/utf8.ts';

/** The beginning of a text in at most `bytes` of UTF-8: whole lines, or whole characters where one line is too long. */
export function cutAtLine(text: string, bytes: number): { text: string; cut: boolean } {
  if (text.length <= bytes && utf8Bytes(text) <= bytes) return { text, cut: false };
  let size = 0;
  let end = 0;
  let lineEnd = 0;
  for (const char of text) {
    size += utf8Bytes(char);
    if (size > bytes) break;
    end += char.length;
    if (char === '\n') lineEnd = end;
  }
  return { text: text.slice(0, lineEnd > 0 ? lineEnd : end), cut: true };
}

/** At most so many characters, with a mark where something is missing. */
export function clip(text: string, chars: number): string {
  if (text.length <= chars) return text;
  const all = [...text];
  return all.length <= chars ? text : `${all.slice(0, chars - 1).join('')}…`;
}
