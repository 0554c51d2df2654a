import type { Json } from '../base/json.ts';

/**
 * Parses JSON and records the position of each value, so that a file can be edited in place. With `comments`, allows
 * comments and trailing commas, as in settings files of editors. Throws a `JsonSyntaxError`.
 */
export function parseJsonText(text: string, o: { comments?: boolean } = {}): JsonNode {
  return new Reader(text, o.comments === true).document();
}

interface Span {
  /** Index of the first character. */
  readonly start: number;
  /** Index after the last character. */
  readonly end: number;
}

export type JsonNode = Span &
  (
    | { readonly kind: 'object' | 'array'; readonly entries: readonly JsonEntry[] }
    | { readonly kind: 'scalar'; readonly value: string | number | boolean | null }
  );

/** A member of an object (with its key) or an item of an array. */
export interface JsonEntry extends Span {
  readonly key: string | null;
  readonly node: JsonNode;
  /** Index of the comma after the entry, or null if there is none. */
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

/** Returns the line and column, from 1 as in editors. CRLF, LF and CR each end one line. */
export function placeOf(
  text: string,
  at: number,
  starts: readonly number[] = lineStarts(text.slice(0, at)),
): { line: number; column: number } {
  let [line, after] = [0, starts.length];
  while (after - line > 1) {
    const middle = (line + after) >>> 1;
    if (starts[middle]! <= at) line = middle;
    else after = middle;
  }
  const mark = line === 0 && text.startsWith('\uFEFF') ? 1 : 0;
  return { line: line + 1, column: Math.max(0, at - starts[line]! - mark) + 1 };
}

export function lineStarts(text: string): number[] {
  const starts = [0];
  for (const end of text.matchAll(/\r\n|\n|\r/g)) starts.push(end.index + end[0].length);
  return starts;
}

/** Returns the value as `JSON.parse` would. Of several members with one name, the last one counts. */
export function jsonValue(node: JsonNode): Json {
  if (node.kind === 'scalar') return node.value;
  if (node.kind === 'array') return node.entries.map((entry) => jsonValue(entry.node));
  // `fromEntries` keeps a member called __proto__. An assignment would set the prototype of the object.
  return Object.fromEntries(node.entries.map((entry) => [entry.key!, jsonValue(entry.node)]));
}

/** Maximum nesting depth. Deeper input could overflow the stack. */
const DEPTH = 500;

const BLANK = /[\t\n\r ]*/y;
const BLANK_OR_COMMENT = /(?:[\t\n\r ]|\/\/[^\r\n]*|\/\*[\s\S]*?\*\/)*/y;
/** Matches a string without its closing quote, so that an error can point to the missing quote. */
const STRING = /"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*/y;
const NUMBER_OR_WORD = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|(?:true|false|null)\b/y;

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
    if (this.#at < this.#text.length) throw this.#fail('there is text after the end of the value');
    return node;
  }

  #value(depth: number): JsonNode {
    this.#space();
    if (depth > DEPTH) throw this.#fail('it is nested too deeply');
    const start = this.#at;
    const char = this.#text[start];
    if (char === '{') return this.#container('object', '}', depth);
    if (char === '[') return this.#container('array', ']', depth);
    if (char === '"') return { kind: 'scalar', start, value: this.#string(), end: this.#at };
    const raw = this.#take(NUMBER_OR_WORD);
    if (raw === '') throw this.#fail('a value is expected');
    return { kind: 'scalar', start, end: this.#at, value: JSON.parse(raw) };
  }

  #container(kind: 'object' | 'array', close: string, depth: number): JsonNode {
    const start = this.#at++;
    const entries: JsonEntry[] = [];
    for (;;) {
      this.#space();
      const last = entries.at(-1);
      if (this.#text[this.#at] === close) {
        if (last && last.comma !== null && !this.#comments)
          throw this.#fail(`there is a comma before ${close}`);
        this.#at++;
        return { kind, start, end: this.#at, entries };
      }
      if (last && last.comma === null) throw this.#fail(`a comma or ${close} is expected`);
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
    if (this.#text[this.#at] !== '"') throw this.#fail('a name in double quotes is expected');
    const key = this.#string();
    this.#space();
    if (this.#text[this.#at] !== ':') throw this.#fail('a colon is expected');
    this.#at++;
    return key;
  }

  #string(): string {
    const open = this.#take(STRING);
    if (this.#text[this.#at] !== '"')
      throw this.#fail('a string is not closed, or contains a character that must be escaped');
    this.#at++;
    return JSON.parse(`${open}"`);
  }

  #space(): void {
    this.#take(this.#comments ? BLANK_OR_COMMENT : BLANK);
    if (this.#comments && this.#text.startsWith('/*', this.#at)) throw this.#fail('a comment is not closed');
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? '';
    this.#at += found.length;
    return found;
  }

  #fail(what: string): JsonSyntaxError {
    const ended = this.#at >= this.#text.length;
    return new JsonSyntaxError(ended ? 'the text ends too early' : what, this.#text, this.#at);
  }
}
