import { RelayError } from './errors.ts';

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

/** How deep a value is nested; stops looking once it is deeper than `enough`. Never recurses. */
export function jsonDepth(value: Json, enough: number): number {
  let depth = 0;
  let level: Json[] = [value];
  while (level.length > 0 && depth <= enough) {
    const next: Json[] = [];
    for (const item of level) {
      if (typeof item !== 'object' || item === null) continue;
      for (const child of Array.isArray(item) ? item : Object.values(item)) {
        if (typeof child === 'object' && child !== null) next.push(child);
      }
    }
    if (next.length === 0) break;
    depth++;
    level = next;
  }
  return depth + 1;
}
