/** Figures as people read them. Without Intl: loading it costs more than a peek. */

const UNITS = ['KiB', 'MiB', 'GiB', 'TiB'];

/** `25 MiB`, `100 bytes` */
export function bytes(n: number): string {
  if (n < 1024) return `${n} ${n === 1 ? 'byte' : 'bytes'}`;
  let value = n;
  let unit = -1;
  do {
    value /= 1024;
    unit++;
  } while (Math.round(value * 10) / 10 >= 1024 && unit < UNITS.length - 1);
  return `${value.toFixed(1).replace(/\.0$/, '')} ${UNITS[unit]}`;
}

/** `11,532` */
export function count(n: number): string {
  return String(n).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** `26,214,400 bytes (25 MiB)`: to the byte, where one too many decides. */
export function exactBytes(n: number): string {
  return n < 1024 ? bytes(n) : `${count(n)} bytes (${bytes(n)})`;
}

/** A text as one word of a command line that a person can paste: in quotes where a shell would take it apart. */
export function shellWord(text: string): string {
  const isPlain = /^[\w./~:-]+$/.test(text) || /^[A-Za-z]:[\w.\\~-]+$/.test(text);
  return isPlain ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
