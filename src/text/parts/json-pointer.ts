import type { RelayError } from '../../base/errors.ts';
import { type Json, joinPath } from '../../base/json.ts';
import { PART_CHARS } from '../../base/limits.ts';
import { type JsonSpan, scanJson } from './json-scan.ts';
import { badPart, type Part, parseJsonPointer, shown } from './part-request.ts';
import { CUT_MARK, type PartBody, plural, wholeText } from './text-lines.ts';

/** The value at an RFC 6901 pointer: a string as its plain text, anything else as JSON, indented where it fits. */
export async function takeJson(body: PartBody, pointer: string): Promise<Part> {
  const segments = parseJsonPointer(pointer);
  const { text: document } = await wholeText(body, 'JSON');
  const found = scanJson(document, segments);
  const value = found[segments.length];
  if (!value)
    throw missing(found.at(-1)!, joinPath(segments.slice(0, found.length - 1)), segments[found.length - 1]!);
  const text = print(document.slice(value.from, value.to), value);
  const about = `json ${pointer === '' ? 'document' : shown(pointer)}, ${describe(value)}`;
  if (text.length <= PART_CHARS) return { text, about, truncated: false };
  return {
    text: text.slice(0, PART_CHARS) + CUT_MARK,
    about: `${about}; cut at ${PART_CHARS} characters, point deeper or pull it whole`,
    truncated: true,
  };
}

/** `array of 12`, `object of 3`, `string`: for one value, in words. */
function describe({ kind, count }: JsonSpan): string {
  return kind === 'array' || kind === 'object' ? `${kind} of ${count}` : kind;
}

function missing(value: JsonSpan, path: string, segment: string): RelayError {
  const where = path === '' ? 'the document' : shown(path);
  const name = `"${shown(segment)}"`;
  const hint = 'Its outline shows what there is.';
  if (value.kind === 'array')
    return badPart(`${name} is no index of ${where}, an array of ${plural(value.count, 'item')}`, hint);
  if (value.kind === 'object') return badPart(`${where} has no member ${name}`, hint);
  return badPart(`${where} is a ${value.kind} and has no ${name}`, hint);
}

/** What is larger than this as it was written is shown so, and not parsed: it would be cut anyway. */
const PARSED_CHARS = 2 * PART_CHARS;

function print(written: string, { kind }: JsonSpan): string {
  if (kind === 'string') return JSON.parse(written);
  if (written.length > PARSED_CHARS) return written;
  const value = parse(written);
  const compact = JSON.stringify(value);
  if (compact.length > PART_CHARS) return compact;
  const indented = JSON.stringify(value, null, 2);
  return indented.length > PART_CHARS ? compact : indented;
}

/** Digits that a JavaScript number cannot hold are kept as they were written, where the platform can. */
function parse(text: string): Json {
  return LONG_NUMBER.test(text) && rawJson ? JSON.parse(text, keepDigits) : JSON.parse(text);
}

/** Only a number like this can lose digits; a match inside a string costs time and nothing else. */
const LONG_NUMBER = /\d[\d.]{15}|\d[eE][+-]?\d{2}/;

const rawJson = (JSON as { rawJSON?: (text: string) => unknown }).rawJSON?.bind(JSON);

function keepDigits(_: string, value: unknown, context?: { source?: string }): unknown {
  const source = context?.source;
  if (typeof value !== 'number' || source === undefined || String(value) === source) return value;
  return Number.isSafeInteger(value) ? value : rawJson!(source);
}
