/** An option of the configuration. */
export interface Option {
  readonly env: string | null;
  readonly default: unknown;
  /** The value, or throws a sentence that says what it must be. */
  read(value: unknown): unknown;
  readonly help: string;
}

/** What a table of options comes to, by their names: what was read, or the default. */
export type OptionReader<Table extends { readonly [key: string]: Option }> = <K extends keyof Table>(
  key: K,
) => ReturnType<Table[K]['read']> | Extract<Table[K]['default'], null>;

export function text(value: unknown): string {
  if (typeof value === 'string' && value !== '') return value;
  throw new Error(`it must be a text, not ${JSON.stringify(value)}.`);
}

export function portNumber(value: unknown): number {
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  if (typeof number === 'number' && Number.isInteger(number) && number >= 0 && number <= 65_535)
    return number;
  throw new Error(`it must be a number from 0 to 65535, not ${JSON.stringify(value)}.`);
}

export function url(value: unknown): string {
  const parsed = typeof value === 'string' && URL.canParse(value) ? new URL(value) : null;
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
    throw new Error(`it must be an http:// or https:// address, not ${JSON.stringify(value)}.`);
  }
  if (parsed.search || parsed.hash || parsed.username) {
    throw new Error('it must be the address alone, without ?, # or a user name.');
  }
  return parsed.origin + parsed.pathname.replace(/\/+$/, '');
}

export function oneOf<const T extends string>(...words: T[]): (value: unknown) => T {
  return (value) => {
    if (words.includes(value as T)) return value as T;
    throw new Error(
      `it must be ${words.map((word) => `"${word}"`).join(' or ')}, not ${JSON.stringify(value)}.`,
    );
  };
}

/** Texts by these names. */
export function byName(names: readonly string[]): (value: unknown) => { readonly [name: string]: string } {
  return (value) => {
    const entries = value !== null && typeof value === 'object' ? Object.entries(value) : null;
    if (
      !Array.isArray(value) &&
      entries?.every(([name, word]) => names.includes(name) && word === text(word))
    )
      return value as { [name: string]: string };
    throw new Error(`it must be an object with texts under ${names.join(', ')}.`);
  };
}

export function list(value: unknown): readonly string[] {
  if (Array.isArray(value) && value.every((item) => typeof item === 'string' && item !== '')) return value;
  throw new Error(`it must be a list of texts, not ${JSON.stringify(value)}.`);
}

/** Also as one text with commas, as it comes from the environment. */
export function words(value: unknown): readonly string[] {
  const items = typeof value === 'string' ? value.split(',').map((word) => word.trim()) : value;
  return list(items);
}

export function yesOrNo(value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  if (value === '1' || value === 'true') return true;
  if (value === '0' || value === 'false') return false;
  throw new Error(`it must be true or false, not ${JSON.stringify(value)}.`);
}

/** `https://app.example`, or `*` for every page there is. */
export function origins(value: unknown): readonly string[] {
  return words(value).map((word) => {
    if (word === '*') return word;
    if (URL.canParse(word) && /^https?:$/.test(new URL(word).protocol) && new URL(word).origin === word)
      return word;
    throw new Error(`it must be origins such as "https://app.example", or "*", not ${JSON.stringify(word)}.`);
  });
}

export function atLeast(least: number): (value: unknown) => number {
  return (value) => {
    const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
    if (typeof number === 'number' && Number.isSafeInteger(number) && number >= least) return number;
    throw new Error(`it must be a whole number from ${least} up, not ${JSON.stringify(value)}.`);
  };
}
