import { RelayError } from './errors.ts';
import { JSON_DEPTH } from './limits.ts';

/** What JSON can say. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What somebody sent as JSON; `bad_json` tells them where it is none. */
export function parseJson(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    throw new RelayError('bad_json', { what: (error as Error).message }, error);
  }
}

/** The object that a text is as JSON; null where it is anything else. */
export function jsonObjectIn(text: string | null | undefined): JsonObject | null {
  try {
    const parsed: unknown = JSON.parse(text ?? '');
    return isJsonObject(parsed) ? parsed : null;
  } catch {
    return null;
  }
}

/** Whether a value has more than so many objects and arrays one inside the other. It looks no deeper than that. */
export function isTooDeep(value: Json, levels = JSON_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const inner = Array.isArray(value) ? value : Object.values(value);
  return levels === 0 || inner.some((item) => isTooDeep(item, levels - 1));
}

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

/** A parsed JSON value, with all that is in it, made unchangeable: it can then be given to many. */
export function freeze<T extends Json>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  for (const inner of Object.values(value)) freeze(inner);
  return Object.freeze(value);
}

/**
 * Remembers what `make` gave for a frozen `from`, which can never come to mean something else; all else is made anew. Only
 * `from` is remembered: with other arguments behind it, the answer to the first ones would come again.
 */
export function madeOnce<From extends object, Rest extends readonly unknown[], Made extends object>(
  make: (from: From, ...rest: Rest) => Made,
): (from: From, ...rest: Rest) => Made {
  const made = new WeakMap<From, Made>();
  return (from, ...rest) => {
    if (!Object.isFrozen(from)) return make(from, ...rest);
    let known = made.get(from);
    if (known === undefined) {
      known = Object.freeze(make(from, ...rest));
      made.set(from, known);
    }
    return known;
  };
}

/** Equality as RFC 6902 means it: members in any order, numbers by value. Shared parts are equal at a glance. */
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
