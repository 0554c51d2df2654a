import { RelayError } from './errors.ts';
import { JSON_DEPTH } from './limits.ts';

/** Any JSON value. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Parses JSON from a client. Throws `bad_json` with the position of the error. */
export function parseJson(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    throw new RelayError('bad_json', { what: (error as Error).message }, error);
  }
}

/** Parses a JSON object. Returns null for anything else. */
export function jsonObjectIn(text: string | null | undefined): JsonObject | null {
  try {
    const parsed: unknown = JSON.parse(text ?? '');
    return isJsonObject(parsed) ? parsed : null;
  } catch {
    return null;
  }
}

/** Returns whether a value has more than `levels` nested levels. Stops at the first level that is too deep. */
export function isTooDeep(value: Json, levels = JSON_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const inner = Array.isArray(value) ? value : Object.values(value);
  return levels === 0 || inner.some((item) => isTooDeep(item, levels - 1));
}

/** Splits a JSON Pointer (RFC 6901) into unescaped segments. Returns null for an invalid pointer. */
export function parsePath(text: string): string[] | null {
  if (text === '') return [];
  if (!text.startsWith('/') || /~(?![01])/.test(text)) return null;
  const segments = text.slice(1).split('/');
  return text.includes('~') ? segments.map((s) => s.replaceAll('~1', '/').replaceAll('~0', '~')) : segments;
}

/** Joins segments into a JSON Pointer and escapes them. */
export function joinPath(segments: readonly (string | number)[]): string {
  return segments.map((s) => `/${escapeSegment(String(s))}`).join('');
}

export function escapeSegment(segment: string): string {
  return segment.replaceAll('~', '~0').replaceAll('/', '~1');
}

/**
 * Parses an array index. Returns null for a text with a sign, a leading zero or an exponent, and for any
 * other text.
 */
export function parseIndex(segment: string): number | null {
  return /^(?:0|[1-9]\d{0,14})$/.test(segment) ? Number(segment) : null;
}

/** Returns the array item or object member with this name, or undefined. */
export function childAt(value: Json | undefined, segment: string): Json | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (!Array.isArray(value)) return Object.hasOwn(value, segment) ? value[segment] : undefined;
  const index = parseIndex(segment);
  return index === null ? undefined : value[index];
}

/** Deeply freezes a JSON value, so that several owners can share it safely. */
export function freeze<T extends Json>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  for (const inner of Object.values(value)) freeze(inner);
  return Object.freeze(value);
}

/**
 * Compares JSON values as RFC 6902 does: the order of members does not matter, and numbers are compared by value. Two
 * references to the same object are equal, so their members are not compared.
 */
export function jsonEqual(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, i) => jsonEqual(item, b[i]));
  }
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && jsonEqual(a[key], b[key]));
}
