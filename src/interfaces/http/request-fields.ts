import { RelayError } from '../../base/errors.ts';
import { type PartRequest, parsePartRequest } from '../../text/parts/part-request.ts';

/** `?lines=10-40`, `?grep=…`, `?json=/a/b` or `?outline=1`; undefined when the whole is asked for. */
export function partOf(query: URLSearchParams): PartRequest | undefined {
  const [lines, grep, context, ignore_case, json, outline] = PART_NAMES.map((name) => query.get(name));
  return parsePartRequest({ lines, grep, context, ignore_case, json, outline }) ?? undefined;
}

const PART_NAMES = ['lines', 'grep', 'context', 'ignore_case', 'json', 'outline'] as const;

export function isOn(value: string | null): boolean {
  return value !== null && value !== '0' && value !== 'false';
}

/** The query of a URL, without parsing the rest of it. */
export function queryOf(url: string): URLSearchParams {
  const at = url.indexOf('?');
  return new URLSearchParams(at < 0 ? '' : url.slice(at + 1));
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
