import type { Json } from './json.ts';

/**
 * Reads JSON and remembers where each value stands, so that a file can be changed without being written anew.
 * With `comments`, what editors of settings files allow is allowed here too: comments and trailing commas.
 */
export function parseJsonText(text: string, o: { comments?: boolean } = {}): JsonNode {
  return new Reader(text, o.comments === true).document();
}

export type JsonNode = JsonObjectNode | JsonArrayNode | JsonScalarNode;

interface Span {
  /** Index of the first character. */
  readonly start: number;
  /** Index behind the last character. */
  readonly end: number;
}

export interface JsonObjectNode extends Span {
  readonly kind: 'object';
  readonly entries: readonly JsonEntry[];
}

export interface JsonArrayNode extends Span {
  readonly kind: 'array';
  readonly entries: readonly JsonEntry[];
}

export interface JsonScalarNode extends Span {
  readonly kind: 'scalar';
  readonly value: string | number | boolean | null;
}

/** A member of an object (with its key) or an item of an array. */
export interface JsonEntry extends Span {
  readonly key: string | null;
  readonly node: JsonNode;
  /** Where the comma behind it stands, if there is one. */
  readonly comma: number | null;
}

export class JsonSyntaxError extends Error {
  readonly what: string;
  readonly line: number;
  readonly column: number;

  constructor(what: string, text: string, at: number) {
    const { line, column } = placeOf(text, at);
    super(`${what} at line ${line}, column ${column}`);
    this.name = 'JsonSyntaxError';
    this.what = what;
    this.line = line;
    this.column = column;
  }
}

/** Both counted from 1, as editors do; CRLF, LF and CR each end one line. */
export function placeOf(
  text: string,
  at: number,
  starts: readonly number[] = lineStarts(text.slice(0, at)),
): { line: number; column: number } {
  const line = starts.findLastIndex((start) => start <= at);
  const mark = line === 0 && text.startsWith('\uFEFF') ? 1 : 0;
  return { line: line + 1, column: Math.max(0, at - starts[line]! - mark) + 1 };
}

export function lineStarts(text: string): number[] {
  const starts = [0];
  for (const end of text.matchAll(/\r\n|\n|\r/g)) starts.push(end.index + end[0].length);
  return starts;
}

export function jsonValue(node: JsonNode): Json {
  if (node.kind === 'scalar') return node.value;
  if (node.kind === 'array') return node.entries.map((entry) => jsonValue(entry.node));
  const object: { [key: string]: Json } = {};
  for (const { key, node: value } of node.entries) {
    // Defined, not assigned: a key called __proto__ is a key like any other.
    Object.defineProperty(object, key!, {
      value: jsonValue(value),
      writable: true,
      enumerable: true,
      configurable: true,
    });
  }
  return object;
}

/** Nesting beyond this is an attack on the stack, not a settings file. */
const DEPTH = 500;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /(?:true|false|null)\b/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

class Reader {
  readonly #text: string;
  readonly #comments: boolean;
  #at = 0;

  constructor(text: string, comments: boolean) {
    this.#text = text;
    this.#comments = comments;
  }

  document(): JsonNode {
    if (this.#text.startsWith('\uFEFF')) this.#at = 1;
    const node = this.#value(0);
    this.#space();
    if (this.#at < this.#text.length) throw this.#fail('there is more after the end of the value');
    return node;
  }

  #value(depth: number): JsonNode {
    this.#space();
    const start = this.#at;
    const char = this.#text[start];
    if (depth > DEPTH) throw this.#fail('it is nested too deeply');
    if (char === '{' || char === '[') return this.#container(char, depth);
    if (char === '"') return { kind: 'scalar', start, value: this.#string(), end: this.#at };
    const raw = this.#take(NUMBER) || this.#take(WORD);
    if (!raw) throw this.#fail(char === undefined ? 'the text ends too early' : 'a value is expected');
    return { kind: 'scalar', start, end: this.#at, value: JSON.parse(raw) };
  }

  #container(open: '{' | '[', depth: number): JsonNode {
    const [kind, close] = open === '{' ? (['object', '}'] as const) : (['array', ']'] as const);
    const start = this.#at++;
    const entries: JsonEntry[] = [];
    for (;;) {
      this.#space();
      const last = entries.at(-1);
      if (this.#text[this.#at] === close) {
        if (last && last.comma !== null && !this.#comments)
          throw this.#fail(`a comma stands before ${close}`);
        this.#at++;
        return { kind, start, end: this.#at, entries };
      }
      if (last && last.comma === null) throw this.#fail(this.#ended() ?? `a comma or ${close} is expected`);
      const from = this.#at;
      const key = kind === 'object' ? this.#key() : null;
      const node = this.#value(depth + 1);
      const end = this.#at;
      this.#space();
      const comma = this.#text[this.#at] === ',' ? this.#at++ : null;
      entries.push({ start: from, end, key, node, comma });
    }
  }

  #key(): string {
    if (this.#text[this.#at] !== '"')
      throw this.#fail(this.#ended() ?? 'a name in double quotes is expected');
    const key = this.#string();
    this.#space();
    if (this.#text[this.#at] !== ':') throw this.#fail(this.#ended() ?? 'a colon is expected');
    this.#at++;
    return key;
  }

  #string(): string {
    const start = this.#at++;
    const text = this.#text;
    for (;;) {
      const char = text.charCodeAt(this.#at);
      if (char === QUOTE) break;
      // Also where the text has ended: then it is not a number.
      if (!(char >= 0x20)) {
        throw this.#fail(this.#ended() ?? 'a string is not closed, or holds what must be escaped');
      }
      if (char !== BACKSLASH) this.#at++;
      else if (!this.#take(ESCAPE)) throw this.#fail('a string is not closed, or holds what must be escaped');
    }
    return JSON.parse(text.slice(start, ++this.#at));
  }

  #space(): void {
    this.#skipBlank();
    while (this.#comments && this.#text[this.#at] === '/') {
      const next = this.#text[this.#at + 1];
      if (next !== '/' && next !== '*') return;
      const end = next === '/' ? this.#text.slice(this.#at).search(/[\r\n]|$/) : this.#blockEnd();
      this.#at += end;
      this.#skipBlank();
    }
  }

  #skipBlank(): void {
    for (;;) {
      const char = this.#text.charCodeAt(this.#at);
      if (char !== 0x20 && char !== 0x0a && char !== 0x0d && char !== 0x09) return;
      this.#at++;
    }
  }

  #blockEnd(): number {
    const end = this.#text.indexOf('*/', this.#at + 2);
    if (end < 0) throw this.#fail('a comment is not closed');
    return end + 2 - this.#at;
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? '';
    this.#at += found.length;
    return found;
  }

  #ended(): string | null {
    return this.#at >= this.#text.length ? 'the text ends too early' : null;
  }

  #fail(what: string): JsonSyntaxError {
    return new JsonSyntaxError(what, this.#text, this.#at);
  }
}
