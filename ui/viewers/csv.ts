/** Parses CSV by RFC 4180: quotes enclose separators and line ends, a doubled quote is a quote. */
export function csvRows(text: string, separator: ',' | ';' | '\t'): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let field = '';
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!;
    if (quoted) {
      if (char !== '"') field += char;
      else if (text[at + 1] === '"') {
        field += '"';
        at++;
      } else quoted = false;
    } else if (char === '"' && field === '') quoted = true;
    else if (char === separator) {
      row.push(field);
      field = '';
    } else if (char === '\n' || char === '\r') {
      if (char === '\r' && text[at + 1] === '\n') at++;
      rows.push([...row, field]);
      row = [];
      field = '';
    } else field += char;
  }
  if (field !== '' || row.length > 0) rows.push([...row, field]);
  return rows;
}

/** Returns the separator that is most frequent in the first line. */
export function separatorOf(text: string): ',' | ';' | '\t' {
  const line = text.slice(0, text.search(/[\r\n]|$/));
  const amount = (separator: string) => line.split(separator).length;
  return ([',', ';', '\t'] as const).reduce((best, next) => (amount(next) > amount(best) ? next : best));
}
