import { RelayError } from '../../base/errors.ts';
import { type Json, joinPath } from '../../base/json.ts';
import { JSON_DEPTH, PART_CHARS } from '../../base/limits.ts';
import { badPart, type Part, parseJsonPointer, quoteForError } from './part-request.ts';
import { CUT_MARK, type PartBody, plural, wholeText } from './text-lines.ts';

/**
 * Returns the value at a JSON Pointer (RFC 6901): a string as plain text, any other value as JSON. The JSON is
 * indented if that fits into a part.
 */
export async function takeJson(body: PartBody, pointer: string): Promise<Part> {
  const segments = parseJsonPointer(pointer);
  const { text: document } = await wholeText(body, 'JSON');
  const found = scanJson(document, segments);
  const value = found[segments.length];
  if (!value)
    throw missing(found.at(-1)!, joinPath(segments.slice(0, found.length - 1)), segments[found.length - 1]!);
  const text = printValue(document.slice(value.from, value.to), value);
  const about = `json ${pointer === '' ? 'document' : quoteForError(pointer)}, ${describe(value)}`;
  if (text.length <= PART_CHARS) return { text, about, truncated: false };
  return {
    text: text.slice(0, PART_CHARS) + CUT_MARK,
    about: `${about}; cut at ${PART_CHARS} characters; use a longer pointer or pull everything`,
    truncated: true,
  };
}

/** Describes a value: `array of 12`, `object of 3`, `string`. */
function describe({ kind, count }: JsonSpan): string {
  return kind === 'array' || kind === 'object' ? `${kind} of ${count}` : kind;
}

function missing(value: JsonSpan, path: string, segment: string): RelayError {
  const where = path === '' ? 'the document' : quoteForError(path);
  const name = `"${quoteForError(segment)}"`;
  const hint = 'The outline shows what exists.';
  if (value.kind === 'array')
    return badPart(`${name} is not an index of ${where}, an array of ${plural(value.count, 'item')}`, hint);
  if (value.kind === 'object') return badPart(`${where} has no member ${name}`, hint);
  return badPart(`${where} is a ${value.kind} and has no ${name}`, hint);
}

/**
 * Maximum length in characters of a value that is parsed and formatted. A longer value is returned as written,
 * because it would be cut anyway.
 */
const PARSED_CHARS = 2 * PART_CHARS;

function printValue(written: string, { kind }: JsonSpan): string {
  if (kind === 'string') return JSON.parse(written);
  if (written.length > PARSED_CHARS) return written;
  const value = parse(written);
  const compact = JSON.stringify(value);
  if (compact.length > PART_CHARS) return compact;
  const indented = JSON.stringify(value, null, 2);
  return indented.length > PART_CHARS ? compact : indented;
}

/** Parses JSON. Keeps the digits that a JavaScript number cannot represent, if the platform supports it. */
function parse(text: string): Json {
  return LONG_NUMBER.test(text) && rawJson ? JSON.parse(text, keepDigits) : JSON.parse(text);
}

/**
 * Matches long numbers, and numbers with an exponent of two or more digits. Only these can lose digits as JavaScript
 * numbers. A match inside a string is harmless.
 */
const LONG_NUMBER = /\d[\d.]{15}|\d[eE][+-]?\d{2}/;

const rawJson = (JSON as { rawJSON?: (text: string) => unknown }).rawJSON?.bind(JSON);

function keepDigits(_: string, value: unknown, context?: { source?: string }): unknown {
  const source = context?.source;
  if (typeof value !== 'number' || source === undefined || String(value) === source) return value;
  return Number.isSafeInteger(value) ? value : rawJson!(source);
}

type JsonKind = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null';

/** Position of a value in a JSON text. */
interface JsonSpan {
  readonly from: number;
  /** End offset, exclusive. */
  to: number;
  readonly kind: JsonKind;
  /** Number of members or items. */
  count: number;
}

/** An object or array that is being read. */
export interface OpenContainer<T> {
  readonly isArray: boolean;
  /** Result of `begin` for this container. */
  readonly found: T | null;
  /** Number of members or items read so far. */
  count: number;
  /** Name of the next member, with quotes. Empty if `found` is null. */
  name: string;
}

/**
 * Checks a JSON text in one pass and reports each value. Calls `begin` at the start of a value, with its container.
 * Calls `end` after the value, unless `begin` returned null. Stores no part of the text. JSON.parse is not used: it
 * would need half a gigabyte for 24 MB of `{},{},…`, cannot be interrupted, and crashes the whole process if it runs
 * out of memory in a worker.
 */
export function walkJson<T>(
  text: string,
  begin: (kind: JsonKind, at: number, parent: OpenContainer<T> | undefined, depth: number) => T | null,
  end: (found: T, at: number, count: number) => void,
): void {
  const open: OpenContainer<T>[] = [];
  let at = 0;
  /** Reads a member name and the colon. */
  const name = (inside: OpenContainer<T>): void => {
    at = skipSpace(text, at);
    const behind = skipString(text, at);
    inside.name = inside.found ? text.slice(at, behind) : '';
    at = skipSpace(text, behind);
    if (text[at++] !== ':') throw syntaxError(text, at - 1);
  };
  for (;;) {
    at = skipSpace(text, at);
    const kind = kindAt(text, at);
    const parent = open.at(-1);
    const match = begin(kind, at, parent, open.length);
    if (parent) parent.count++;
    if (kind === 'object' || kind === 'array') {
      if (open.length === JSON_DEPTH) throw tooDeep();
      const inside = { isArray: kind === 'array', found: match, count: 0, name: '' };
      open.push(inside);
      at = skipSpace(text, at + 1);
      if (text[at] !== (kind === 'array' ? ']' : '}')) {
        if (kind === 'object') name(inside);
        continue;
      }
    } else {
      at = kind === 'string' ? skipString(text, at) : skipWord(text, at);
      if (match) end(match, at, 0);
    }
    // After a value: close finished containers, or go on with the next value.
    for (;;) {
      at = skipSpace(text, at);
      const inside = open.at(-1);
      if (!inside) {
        if (at < text.length) throw syntaxError(text, at);
        return;
      }
      const char = text[at++];
      if (char === ',') {
        if (!inside.isArray) name(inside);
        break;
      }
      if (char !== (inside.isArray ? ']' : '}')) throw syntaxError(text, at - 1);
      open.pop();
      if (inside.found) end(inside.found, at, inside.count);
    }
  }
}

/**
 * Finds the values on a path in a JSON text: first the document, then the value at each segment. The result ends
 * before the first segment that does not exist. If a member name is repeated, the last member counts, as in
 * JSON.parse.
 */
export function scanJson(text: string, path: readonly string[] = []): JsonSpan[] {
  const spans: JsonSpan[] = [];
  walkJson<JsonSpan>(
    text,
    (kind, from, parent, depth) => {
      if (parent) {
        const segment = path[depth - 1];
        if (!parent.found || segment === undefined) return null;
        const isNext = parent.isArray ? String(parent.count) === segment : isNamed(parent.name, segment);
        if (!isNext) return null;
      }
      const span = { from, to: from, kind, count: 0 };
      spans.splice(depth, spans.length, span);
      return span;
    },
    (span, to, count) => Object.assign(span, { to, count }),
  );
  return spans;
}

function isNamed(quoted: string, name: string): boolean {
  return quoted.includes('\\') ? JSON.parse(quoted) === name : quoted === `"${name}"`;
}

function kindAt(text: string, at: number): JsonKind {
  const char = text[at];
  if (char === '{') return 'object';
  if (char === '[') return 'array';
  if (char === '"') return 'string';
  if (char === 't' || char === 'f') return 'boolean';
  return char === 'n' ? 'null' : 'number';
}

function skipSpace(text: string, from: number): number {
  let at = from;
  for (; ; at++) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at;
  }
}

const WORD = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;

function skipWord(text: string, from: number): number {
  WORD.lastIndex = from;
  if (!WORD.test(text)) throw syntaxError(text, from);
  return WORD.lastIndex;
}

function skipString(text: string, from: number): number {
  if (text[from] !== '"') throw syntaxError(text, from);
  for (let at = from + 1; at < text.length; ) {
    const code = text.charCodeAt(at);
    if (code === 0x22) return at + 1;
    if (code < 0x20) throw syntaxError(text, at);
    if (code === 0x5c) {
      ESCAPE.lastIndex = at;
      if (!ESCAPE.test(text)) throw syntaxError(text, at);
      at = ESCAPE.lastIndex;
    } else at++;
  }
  throw syntaxError(text, text.length);
}

/**
 * Returns the `not_json` error for a text that does not begin like JSON, ends too early or has a syntax error. Only a
 * syntax error has a line and a column. The message does not quote the payload.
 */
function syntaxError(text: string, at: number): RelayError {
  const start = skipSpace(text, 0);
  if (at === start && at < text.length)
    return new RelayError('not_json', { what: 'it does not begin like JSON' });
  if (at >= text.length) return new RelayError('not_json', { what: 'it ends too early' });
  let line = 1;
  let from = 0;
  for (let end = text.indexOf('\n'); end !== -1 && end < at; end = text.indexOf('\n', from)) {
    line++;
    from = end + 1;
  }
  return new RelayError('not_json', { what: `syntax error at line ${line}, column ${at - from + 1}` });
}

function tooDeep(): RelayError {
  return new RelayError('not_json', {
    what: `it is nested too deeply, more than ${JSON_DEPTH} levels`,
    depth: JSON_DEPTH,
  });
}
