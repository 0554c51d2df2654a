import { RelayError } from '../../base/errors.ts';
import { isTooDeep, type Json } from '../../base/json.ts';
import { childAt, joinPath } from '../../base/json-pointer.ts';
import { PART_CHARS } from '../../base/limits.ts';
import { badPart, type Part, parseJsonPointer, shown } from './part-request.ts';
import { CUT_MARK, type PartBody, plural, wholeText } from './text-lines.ts';

/** The value at an RFC 6901 pointer: a string as its plain text, anything else as JSON, indented where it fits. */
export async function takeJson(body: PartBody, pointer: string): Promise<Part> {
  const segments = parseJsonPointer(pointer);
  const { text: document } = await wholeText(body, 'JSON');
  const value = find(parseJson(document), segments);
  const text = typeof value === 'string' ? value : print(value);
  const about = `json ${pointer === '' ? 'document' : shown(pointer)}, ${describe(value)}`;
  if (text.length <= PART_CHARS) return { text, about, truncated: false };
  return {
    text: text.slice(0, PART_CHARS) + CUT_MARK,
    about: `${about}; cut at ${PART_CHARS} characters, point deeper or pull it whole`,
    truncated: true,
  };
}

/** Digits that a JavaScript number cannot hold are kept as they were written, where the platform can. */
export function parseJson(text: string): Json {
  try {
    return LONG_NUMBER.test(text) && rawJson ? JSON.parse(text, keepDigits) : JSON.parse(text);
  } catch (cause) {
    if (cause instanceof RangeError) throw tooDeep(cause);
    // The platform's message quotes the payload, which has no place in an error.
    const at = /line (\d+) column (\d+)/.exec(String(cause));
    throw new RelayError('not_json', {
      what: at ? `it breaks at line ${at[1]}, column ${at[2]}` : howItBreaks(text, String(cause)),
    });
  }
}

/** Where the platform names no place. */
function howItBreaks(text: string, told: string): string {
  if (/end of JSON|[Uu]nterminated/.test(told)) return 'it breaks off';
  return /^\s*[[{"\d-]/.test(text) ? 'it breaks in the middle' : 'it does not begin as JSON does';
}

/** `array of 12`, `object of 3`, `string`: for one value, in words. */
export function describe(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return `array of ${value.length}`;
  if (typeof value !== 'object') return typeof value;
  return isRaw(value) ? 'number' : `object of ${Object.keys(value).length}`;
}

function find(document: Json, segments: string[]): Json {
  let value = document;
  for (const [i, segment] of segments.entries()) {
    const found = isRaw(value) ? undefined : childAt(value, segment);
    if (found === undefined) throw missing(value, joinPath(segments.slice(0, i)), segment);
    value = found;
  }
  return value;
}

function missing(value: Json, path: string, segment: string): RelayError {
  const where = path === '' ? 'the document' : shown(path);
  const name = `"${shown(segment)}"`;
  const hint = 'Ask for outline=1 to see what there is.';
  if (Array.isArray(value))
    return badPart(`${name} is no index of ${where}, an array of ${plural(value.length, 'item')}`, hint);
  if (describe(value).startsWith('object')) return badPart(`${where} has no member ${name}`, hint);
  return badPart(`${where} is a ${describe(value)} and has no ${name}`, hint);
}

function print(value: Json): string {
  try {
    const compact = JSON.stringify(value);
    // Indenting what is nested deeply can make it many times its size.
    if (compact.length > PART_CHARS || isTooDeep(value)) return compact;
    const indented = JSON.stringify(value, null, 2);
    return indented.length > PART_CHARS ? compact : indented;
  } catch (cause) {
    throw tooDeep(cause);
  }
}

function tooDeep(cause: unknown): RelayError {
  return new RelayError('not_json', { what: 'it is nested too deeply to be read' }, cause);
}

/** Only a number like this can lose digits; a match inside a string costs time and nothing else. */
const LONG_NUMBER = /\d[\d.]{15}|\d[eE][+-]?\d{2}/;

const platform = JSON as { rawJSON?: (text: string) => unknown; isRawJSON?: (value: unknown) => boolean };
const rawJson = platform.rawJSON?.bind(JSON);

function isRaw(value: unknown): boolean {
  return platform.isRawJSON?.(value) ?? false;
}

function keepDigits(_: string, value: unknown, context?: { source?: string }): unknown {
  const source = context?.source;
  if (typeof value !== 'number' || source === undefined || String(value) === source) return value;
  return Number.isSafeInteger(value) ? value : rawJson!(source);
}
