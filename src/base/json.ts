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
