import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts';
import type { YamlText } from '../../formats/yaml.ts';
import type { Problem } from './definition.ts';

export type Path = readonly (string | number)[];

/** Reads the parts of a YAML text and gathers everything that is wrong, with its line. */
export class FieldReader {
  readonly problems: Problem[] = [];
  readonly #yaml: YamlText;

  constructor(yaml: YamlText) {
    this.#yaml = yaml;
  }

  error(path: Path, what: string): void {
    this.problems.push({ line: this.#yaml.lineOf(path), what, severity: 'error' });
  }

  warning(path: Path, what: string): void {
    this.problems.push({ line: this.#yaml.lineOf(path), what, severity: 'warning' });
  }

  /** An object with none but the known keys; an empty one where it is not an object. */
  object(path: Path, value: Json | undefined, what: string, keys?: readonly string[]): JsonObject {
    if (value === undefined || value === null) return {};
    if (!isJsonObject(value)) {
      this.error(path, `${what} must be a map of names to values`);
      return {};
    }
    for (const key of keys ? Object.keys(value) : []) {
      if (keys!.includes(key)) continue;
      const near = nearest(key, keys!);
      this.error(
        [...path, key],
        `${what} has no "${key}"${near ? `; did you mean "${near}"?` : `, only ${keys!.join(', ')}`}`,
      );
    }
    return value;
  }

  text(path: Path, value: Json | undefined, what: string): string | undefined {
    if (value === undefined || value === null) return undefined;
    if (typeof value === 'string') return value;
    if (typeof value === 'number' || typeof value === 'boolean') return String(value);
    this.error(path, `${what} must be a text`);
    return undefined;
  }

  /** One text or a list of them. */
  texts(path: Path, value: Json | undefined, what: string): string[] {
    if (value === undefined || value === null) return [];
    const list = Array.isArray(value) ? value : [value];
    if (list.every((item) => typeof item === 'string')) return list as string[];
    this.error(path, `${what} must be a list of texts`);
    return [];
  }

  count(path: Path, value: Json | undefined, what: string, min: number, max: number): number | undefined {
    if (value === undefined || value === null) return undefined;
    if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
    this.error(path, `${what} must be a whole number from ${min} to ${max}`);
    return undefined;
  }

  /** Milliseconds from `90s`, `15m`, `2h`, `7d`, `500ms` or a number of seconds. */
  span(path: Path, value: Json | undefined, what: string): number | undefined {
    if (value === undefined || value === null) return undefined;
    const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(String(value));
    const ms = match ? Number(match[1]) * UNITS[match[2] ?? 's']! : 0;
    if (ms > 0 && ms <= 2 ** 31 - 1) return ms;
    this.error(path, `${what} must be a time such as 90s, 15m or 2h`);
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

/** A key that a slip of the finger would have been: one letter more, less or other, or a plural. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  return candidates.find((candidate) => near(word.toLowerCase(), candidate.toLowerCase()));
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
