import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts';
import type { Problem } from './definition.ts';

export type Path = readonly (string | number)[];

/** Notes what is wrong at a place of a YAML text. */
export type Report = (path: Path, what: string, severity?: Problem['severity']) => void;

/** One map of a YAML text. What is wrong in it is reported, and read as if it were not there. */
export class Fields {
  /** Empty where there is no map. */
  readonly raw: JsonObject;
  readonly #report: Report;
  readonly #path: Path;

  /** With `keys`, every other key is an error. */
  constructor(report: Report, path: Path, value: Json | undefined, what: string, keys?: readonly string[]) {
    this.#report = report;
    this.#path = path;
    this.raw = isJsonObject(value) ? value : {};
    if (!isJsonObject(value ?? {})) this.error(`${what} must be a map of names to values`);
    for (const key of keys ? Object.keys(this.raw) : []) {
      if (keys!.includes(key)) continue;
      this.error(`${what} has no "${key}"${didYouMean(key, keys!) || `, only ${keys!.join(', ')}`}`, key);
    }
  }

  /** Something is wrong with the map, or with what is in it `at` a key. */
  error(what: string, ...at: Path): void {
    this.#report([...this.#path, ...at], what);
  }

  /** The map under a key. */
  map(key: string, keys?: readonly string[], what = `"${key}"`, value = this.raw[key]): Fields {
    return new Fields(this.#report, [...this.#path, key], value, what, keys);
  }

  text(key: string, what = `"${key}"`): string | undefined {
    const value = this.raw[key] ?? undefined;
    if (value === undefined || typeof value === 'string') return value;
    if (typeof value === 'number' || typeof value === 'boolean') return String(value);
    this.error(`${what} must be a text`, key);
    return undefined;
  }

  /** One text or a list of them. */
  texts(key: string): string[] {
    const value = this.raw[key] ?? [];
    const list = Array.isArray(value) ? value : [value];
    if (list.every((item) => typeof item === 'string')) return list;
    this.error(`"${key}" must be a list of texts`, key);
    return [];
  }

  count(key: string, min: number, max: number, what = `"${key}"`): number | undefined {
    const value = this.raw[key] ?? undefined;
    if (value === undefined) return undefined;
    if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
    this.error(`${what} must be a whole number from ${min} to ${max}`, key);
    return undefined;
  }

  /** Milliseconds from `90s`, `15m`, `2h`, `7d`, `500ms` or a number of seconds. */
  span(key: string): number | undefined {
    const value = this.raw[key] ?? undefined;
    if (value === undefined) return undefined;
    const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(String(value));
    const ms = match ? Number(match[1]) * UNITS[match[2] ?? 's']! : 0;
    if (ms > 0 && ms <= 2 ** 31 - 1) return ms;
    this.error(`"${key}" must be a time such as 90s, 15m or 2h`, key);
    return undefined;
  }
}

const UNITS: { readonly [unit: string]: number } = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Names a candidate that a slip of the finger would have been: one letter more, less or other, or a plural. */
export function didYouMean(word: string, candidates: readonly string[]): string {
  const found = candidates.find((candidate) => near(word.toLowerCase(), candidate.toLowerCase()));
  return found === undefined ? '' : `; did you mean "${found}"?`;
}

function near(a: string, b: string): boolean {
  if (a === b || a.replace(/[-_]/g, '') === b.replace(/[-_]/g, '')) return true;
  // Of words this short every one is near every other.
  if (Math.abs(a.length - b.length) > 1 || Math.max(a.length, b.length) < 3) return false;
  let start = 0;
  while (start < a.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < Math.min(a.length, b.length) - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const [restA, restB] = [a.length - start - end, b.length - start - end];
  const swapped = restA === 2 && restB === 2 && a[start] === b[start + 1] && a[start + 1] === b[start];
  return (restA <= 1 && restB <= 1) || swapped;
}
