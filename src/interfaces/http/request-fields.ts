import { RelayError } from '../../base/errors.ts';

/** Whether a field of the query is there and does not say no. */
export function isOn(value: string | undefined): boolean {
  return value !== undefined && value !== '0' && value !== 'false';
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
