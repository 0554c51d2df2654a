/** A text as one word of a command line that a person can paste: in quotes where a shell would take it apart. */
export function shellWord(text: string): string {
  const isPlain = /^[\w./~:-]+$/.test(text) || /^[A-Za-z]:[\w.\\~-]+$/.test(text);
  return isPlain ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
