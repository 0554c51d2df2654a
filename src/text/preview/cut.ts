/** The beginning of a text in at most `bytes` of UTF-8: whole lines, or whole characters where one line is too long. */
export function cutAtLine(text: string, bytes: number): { text: string; cut: boolean } {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytes));
  if (read === text.length) return { text, cut: false };
  const lines = text.lastIndexOf('\n', read - 1) + 1;
  return { text: text.slice(0, lines || read), cut: true };
}

/** At most so many characters, with a mark where something is missing. */
export function clip(text: string, chars: number): string {
  if (text.length <= chars) return text;
  const all = [...text];
  return all.length <= chars ? text : `${all.slice(0, chars - 1).join('')}…`;
}
