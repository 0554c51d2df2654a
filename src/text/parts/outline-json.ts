import { OUTLINE_DEPTH, OUTLINE_ENTRIES, OUTLINE_LINE_CHARS } from '../../base/limits.ts';

export interface OutlineEntry {
  readonly line: number;
  readonly text: string;
}

/**
 * The shape of a JSON text that is known to parse: pointer, type and length of each value, of arrays the first item. Levels are
 * listed as deep as they fit whole, so that one large member does not push out its neighbours.
 */
export function outlineJson(text: string): { entries: OutlineEntry[]; truncated: boolean } {
  const levels = new Shape(text).walk();
  let depth = 0;
  let count = 0;
  while (depth < levels.length && (depth === 0 || count + levels[depth]!.count <= OUTLINE_ENTRIES)) {
    count += levels[depth++]!.count;
  }
  // A single level that is too wide is better cut than left out.
  const wide = depth === 1 && levels.length > 1;
  const kept = levels.slice(0, wide ? 2 : depth).flatMap((level) => level.entries);
  kept.sort((a, b) => a.order - b.order);
  const entries = kept
    .slice(0, OUTLINE_ENTRIES)
    .map(({ line, pointer, what }) => ({ line, text: `${shorten(pointer)} ${what}` }));
  return { entries, truncated: depth < levels.length };
}

interface Found {
  readonly order: number;
  readonly line: number;
  readonly pointer: string;
  what: string;
}

interface Level {
  count: number;
  readonly entries: Found[];
}

/** Walks the text and not its parsed value: only the text knows the lines. */
class Shape {
  readonly #text: string;
  readonly #levels: Level[] = [];
  #at = 0;
  #line = 1;
  #order = 0;

  constructor(text: string) {
    this.#text = text;
  }

  walk(): Level[] {
    this.#space();
    this.#value('', 0);
    return this.#levels;
  }

  #value(pointer: string, depth: number): void {
    const found = this.#list(pointer, depth);
    const open = this.#text[this.#at];
    if (open === '{' || open === '[') {
      const isArray = open === '[';
      const count = depth < OUTLINE_DEPTH ? this.#children(pointer, depth, isArray) : this.#skipped();
      found.what = `${isArray ? 'array' : 'object'} of ${count}`;
    } else if (open === '"') {
      found.what = `string of ${this.#string().length - 2}`;
    } else {
      found.what = open === 't' || open === 'f' ? 'boolean' : open === 'n' ? 'null' : 'number';
      this.#bare();
    }
  }

  #list(pointer: string, depth: number): Found {
    const found = { order: this.#order++, line: this.#line, pointer, what: '' };
    this.#levels[depth] ??= { count: 0, entries: [] };
    const level = this.#levels[depth];
    level.count++;
    if (level.entries.length < OUTLINE_ENTRIES) level.entries.push(found);
    return found;
  }

  #children(pointer: string, depth: number, isArray: boolean): number {
    let count = 0;
    this.#at++;
    for (;;) {
      this.#space();
      const char = this.#text[this.#at];
      if (char === '}' || char === ']') break;
      if (char === ',') {
        this.#at++;
        continue;
      }
      let segment = '0';
      if (!isArray) {
        segment = escaped(this.#string());
        this.#space();
        this.#at++;
        this.#space();
      }
      if (isArray && count > 0) this.#skip();
      else this.#value(`${pointer}/${segment}`, depth + 1);
      count++;
    }
    this.#at++;
    return count;
  }

  #skip(): void {
    const open = this.#text[this.#at];
    if (open === '{' || open === '[') this.#skipped();
    else if (open === '"') this.#string();
    else this.#bare();
  }

  /** Passes over a container, however deep, and counts its members. */
  #skipped(): number {
    let depth = 0;
    let commas = 0;
    let empty = true;
    do {
      const char = this.#text[this.#at]!;
      if (char === '"') {
        this.#string();
        empty = false;
        continue;
      }
      this.#at++;
      if (char === '{' || char === '[') {
        if (depth++ > 0) empty = false;
      } else if (char === '}' || char === ']') depth--;
      else if (char === '\n') this.#line++;
      else if (char === ',' && depth === 1) commas++;
      else if (!isSpace(char)) empty = false;
    } while (depth > 0);
    return empty ? 0 : commas + 1;
  }

  /** With its quotes, still escaped. */
  #string(): string {
    const from = this.#at;
    let end = this.#text.indexOf('"', from + 1);
    while (isEscaped(this.#text, end)) end = this.#text.indexOf('"', end + 1);
    this.#at = end + 1;
    return this.#text.slice(from, end + 1);
  }

  #bare(): void {
    while (this.#at < this.#text.length && !/[\s,\]}]/.test(this.#text[this.#at]!)) this.#at++;
  }

  #space(): void {
    for (; isSpace(this.#text[this.#at]); this.#at++) if (this.#text[this.#at] === '\n') this.#line++;
  }
}

function isSpace(char: string | undefined): boolean {
  return char === ' ' || char === '\n' || char === '\r' || char === '\t';
}

function isEscaped(text: string, at: number): boolean {
  let slashes = 0;
  while (text[at - 1 - slashes] === '\\') slashes++;
  return slashes % 2 === 1;
}

function escaped(quoted: string): string {
  return (JSON.parse(quoted) as string).replaceAll('~', '~0').replaceAll('/', '~1');
}

function shorten(pointer: string): string {
  const text = pointer.replace(/\p{Cc}/gu, ' ');
  const most = OUTLINE_LINE_CHARS * OUTLINE_DEPTH;
  if (text === '') return '(document)';
  return text.length > most ? `${text.slice(0, most)}…` : text;
}
