/**
 * Formats numbers for people. These functions do not use Intl, because loading Intl takes longer than a whole
 * `relay peek`.
 */

const UNITS = ['KiB', 'MiB', 'GiB', 'TiB'];

/** Formats a number of bytes: `25 MiB`, `100 bytes`. */
export function bytes(byteCount: number): string {
  if (byteCount < 1024) return `${byteCount} ${byteCount === 1 ? 'byte' : 'bytes'}`;
  let value = byteCount;
  let unit = -1;
  do {
    value /= 1024;
    unit++;
  } while (Math.round(value * 10) / 10 >= 1024 && unit < UNITS.length - 1);
  return `${value.toFixed(1).replace(/\.0$/, '')} ${UNITS[unit]}`;
}

/** Formats a number with thousands separators: `11,532`. */
export function count(number: number): string {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** Formats a number with its noun: `1 pointer`, `3 pointers`. */
export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** Formats a byte limit exactly: `26,214,400 bytes (25 MiB)`. */
export function exactBytes(byteCount: number): string {
  return byteCount < 1024 ? bytes(byteCount) : `${count(byteCount)} bytes (${bytes(byteCount)})`;
}

/** Quotes a text for a shell command that a person can paste. Adds quotes only where they are needed. */
export function shellWord(text: string): string {
  const isPlain = /^[\w./~:-]+$/.test(text) || /^[A-Za-z]:[\w.\\~-]+$/.test(text);
  return isPlain ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

const SPANS: readonly [name: string, seconds: number][] = [
  ['year', 365 * 86_400],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
];

/** Formats a limit in its largest whole unit: `30 days`, `90 minutes`, `1 second`. */
export function duration(seconds: number): string {
  const [name, size] = SPANS.find(([, each]) => seconds >= each && seconds % each === 0) ?? ['second', 1];
  return plural(seconds / size, name);
}
