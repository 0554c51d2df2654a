import type { Json } from './json.ts';

/** JSON Pointers (RFC 6901) as lists of segments. */

/** Null for what is not a pointer: it is empty or begins with a slash, and `~` is followed by 0 or 1. */
export function parsePath(text: string): string[] | null {
  if (text === '') return [];
  if (!text.startsWith('/') || /~(?![01])/.test(text)) return null;
  const segments = text.slice(1).split('/');
  return text.includes('~') ? segments.map((s) => s.replaceAll('~1', '/').replaceAll('~0', '~')) : segments;
}

export function joinPath(segments: readonly (string | number)[]): string {
  return segments.map((s) => `/${escapeSegment(String(s))}`).join('');
}

export function escapeSegment(segment: string): string {
  return segment.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** Null for what is not an index: no sign, no leading zero, no exponent. */
export function parseIndex(segment: string): number | null {
  return /^(?:0|[1-9]\d{0,14})$/.test(segment) ? Number(segment) : null;
}

/** The item or member that a segment names; undefined where there is none. */
export function childAt(value: Json | undefined, segment: string): Json | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (!Array.isArray(value)) return Object.hasOwn(value, segment) ? value[segment] : undefined;
  const index = parseIndex(segment);
  return index === null ? undefined : value[index];
}
