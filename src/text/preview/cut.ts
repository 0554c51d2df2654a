/** Patterns for places at which a text may be cut, best first. */
const ENDS = [/\n/g, /[.!?…]["'’”)\]]*\s|[。！？]/gu, /\s/g];

/**
 * Returns the beginning of a text, at most `bytes` bytes of UTF-8. Cuts at the end of a line, sentence or word if one
 * is in the last quarter, otherwise after any character.
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
