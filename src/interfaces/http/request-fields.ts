import { badRequest, RelayError } from '../../base/errors.ts';

/** Whether a field of the query says yes; one without a value does. */
export function isOn(query: { readonly [name: string]: string | undefined }, name: string): boolean {
  const value = query[name];
  if (value === undefined || value === '0' || value === 'false') return false;
  if (value === '1' || value === 'true' || value === '') return true;
  throw badRequest(`"${name}" is 1 or 0, not ${JSON.stringify(value.slice(0, 40))}.`);
}

/**
 * One byte range of a Range header, `end` exclusive; null when there is none or it is to be ignored (RFC 9110 lets a
 * server ignore several ranges and units it does not know).
 */
export function parseRange(
  header: string | null | undefined,
  size: number,
): { start: number; end: number } | null {
  if (!header) return null;
  const match = /^bytes=(\d*)-(\d*)$/.exec(header.trim());
  if (!match || (match[1] === '' && match[2] === '')) return null;
  if (match[1] === '') {
    const last = Number(match[2]);
    if (last === 0) throw new RelayError('range_not_satisfiable', { size });
    return { start: Math.max(0, size - last), end: size };
  }
  const start = Number(match[1]);
  const end = match[2] === '' ? size : Math.min(Number(match[2]) + 1, size);
  if (match[2] !== '' && Number(match[2]) < start) return null;
  if (start >= size) throw new RelayError('range_not_satisfiable', { size });
  return { start, end };
}
