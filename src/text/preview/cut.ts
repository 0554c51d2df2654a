/** Where a text may end, the best place first. */
const ENDS = [/\n/g, /[.!?…]["'’”)\]]*\s|[。！？]/gu, /\s/g];

/**
 * The beginning of a text in at most `bytes` of UTF-8. It ends with a line, a sentence or a word, whichever of them
 * has an end in the last quarter; where none has, with a character.
 */
export function cutNear(text: string, bytes: number): { text: string; cut: boolean } {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytes));
  if (read === text.length) return { text, cut: false };
  const near = Math.floor((read * 3) / 4);
  const tail = text.slice(near, read);
  for (const end of ENDS) {
    const last = [...tail.matchAll(end)].at(-1);
    if (last) return { text: text.slice(0, near + last.index + last[0].length), cut: true };
  }
  return { text: text.slice(0, read), cut: true };
}

/** At most so many characters, with a mark where something is missing. */
export function clip(text: string, chars: number): string {
  if (text.length <= chars) return text;
  const all = [...text];
  return all.length <= chars ? text : `${all.slice(0, chars - 1).join('')}…`;
}
