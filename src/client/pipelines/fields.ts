import { nearest } from '../../base/did-you-mean.ts';
import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts';
import type { Problem } from './definition.ts';

export type Path = readonly (string | number)[];

/** Reports a problem at a path in the YAML document. */
export type Report = (path: Path, what: string, severity?: Problem['severity']) => void;

/** Reads the fields of a YAML map. Reports a field with an invalid value and treats it as missing. */
export class Fields {
  /** The map as a JSON object. Empty if there is no map. */
  readonly raw: JsonObject;
  readonly #report: Report;
  readonly #path: Path;

  /** If `keys` is given, any other key in the map is an error. */
  constructor(report: Report, path: Path, value: Json | undefined, what: string, keys?: readonly string[]) {
    this.#report = report;
    this.#path = path;
    this.raw = isJsonObject(value) ? value : {};
    if (!isJsonObject(value ?? {})) this.error(`${what} must be a map of names to values`);
    for (const key of keys ? Object.keys(this.raw) : []) {
      if (keys!.includes(key)) continue;
      this.error(
        `${what} has an unknown key "${key}"${didYouMean(key, keys!) || `; the keys are ${keys!.join(', ')}`}`,
        key,
      );
    }
  }

  /**
   * Reports an error in the map, or at a path inside the map. Returns undefined, so that a caller can write
   * `return fields.error(…)`.
   */
  error(what: string, ...at: Path): undefined {
    this.#report([...this.#path, ...at], what);
  }

  /** Reports a warning in the map, or at a path inside the map. */
  warn(what: string, ...at: Path): void {
    this.#report([...this.#path, ...at], what, 'warning');
  }

  /** Returns the map at a key as `Fields`. */
  map(key: string, keys?: readonly string[], what = `"${key}"`, value = this.raw[key]): Fields {
    return new Fields(this.#report, [...this.#path, key], value, what, keys);
  }

  /** Returns whether the file has a value at a key. A key with the value null is treated as missing. */
  has(key: string): boolean {
    return (this.raw[key] ?? undefined) !== undefined;
  }

  /**
   * Returns the map at a key, or undefined if the key is missing. The file may also have a single value of the type
   * `scalar` in place of the map. This value then belongs to the first of `keys`.
   */
  shorthand(key: string, keys: readonly string[], scalar: 'string' | 'number' = 'string') {
    if (!this.has(key)) return undefined;
    const value = this.raw[key]!;
    return this.map(key, keys, `"${key}"`, typeof value === scalar ? { [keys[0]!]: value } : value);
  }

  /** Returns the text at a key. Numbers and booleans become texts. */
  text(key: string, what = `"${key}"`): string | undefined {
    const parse = (value: Json) => (typeof value === 'object' ? undefined : String(value));
    return this.#parse(key, parse, `${what} must be a string`);
  }

  /** Returns the texts at a key as a list. A single text becomes a list with one item. */
  texts(key: string): string[] {
    const value = this.raw[key] ?? [];
    const list = Array.isArray(value) ? value : [value];
    if (list.every((item) => typeof item === 'string')) return list;
    this.error(`"${key}" must be a list of strings`, key);
    return [];
  }

  /** Returns the text at a key. Reports an error if the text is none of the choices. */
  oneOf<const T extends string>(key: string, choices: readonly T[]): T | undefined {
    const value = this.text(key);
    if (value === undefined || choices.includes(value as T)) return value as T | undefined;
    return this.error(`"${key}" must be ${choices.join(' or ')}`, key);
  }

  /** Returns the number at a key. Reports an error if the number is not above 0. */
  amount(key: string): number | undefined {
    const parse = (value: Json) => (Number.isFinite(value) && Number(value) > 0 ? Number(value) : undefined);
    return this.#parse(key, parse, `"${key}" must be a number above 0`);
  }

  /**
   * Returns the texts in the map at a key. Reports an error for a name that no environment variable may have.
   */
  variables(key: string): { [name: string]: string } {
    const found: { [name: string]: string } = {};
    const inside = this.map(key);
    for (const name of Object.keys(inside.raw)) {
      if (!/^[A-Za-z_]\w{0,127}$/.test(name))
        inside.error(`"${name}" is not a valid name for a variable`, name);
      found[name] = inside.text(name) ?? '';
    }
    return found;
  }

  /** Returns the whole number at a key. Reports an error if it is not from `min` to `max`. */
  count(key: string, min: number, max: number, what = `"${key}"`): number | undefined {
    const parse = (value: Json) =>
      Number.isInteger(value) && Number(value) >= min && Number(value) <= max ? Number(value) : undefined;
    return this.#parse(key, parse, `${what} must be a whole number from ${min} to ${max}`);
  }

  /** Returns the duration at a key in ms: `90s`, `15m`, `2h`, `7d`, `500ms`, or a number of seconds. */
  span(key: string): number | undefined {
    return this.#parse(key, parseSpan, `"${key}" must be a time such as 90s, 15m or 2h`);
  }

  /** Returns the value at a key. Reports an error if the file has a value that `parse` does not accept. */
  #parse<T>(key: string, parse: (value: Json) => T | undefined, error: string): T | undefined {
    return this.has(key) ? (parse(this.raw[key]!) ?? this.error(error, key)) : undefined;
  }
}

function parseSpan(value: Json): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(String(value));
  const ms = match ? Number(match[1]) * UNITS[match[2] ?? 's']! : 0;
  return ms > 0 && ms <= 2 ** 31 - 1 ? ms : undefined;
}

const UNITS: { readonly [unit: string]: number } = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Returns a suggestion for an unknown word, or an empty text. Words of one or two letters get no suggestion,
 * because too many other words are similar.
 */
export function didYouMean(word: string, candidates: readonly string[]): string {
  const found = word.length < 3 ? null : nearest(word, candidates);
  return found === null ? '' : `; did you mean "${found}"?`;
}
