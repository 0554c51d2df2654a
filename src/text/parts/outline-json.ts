import { escapeSegment } from '../../base/json.ts';
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
  const levels = shapeOf(text);
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

/** A container that is being read. */
interface Open {
  /** Its place in the outline; null where it has none. */
  readonly found: Found | null;
  readonly isArray: boolean;
  count: number;
  /** The name of the member that comes next, with its quotes, once it has been read. */
  name: string | null;
}

/** Reads the text and not its parsed value: only the text knows the lines. */
function shapeOf(text: string): Level[] {
  const levels: Level[] = [];
  const open: Open[] = [];
  let line = 1;
  let order = 0;
  /** Lists a value that begins here, unless it lies too deep or is another item of an array. */
  const begin = (what: string): Found | null => {
    const parent = open.at(-1);
    let pointer = '';
    if (parent) {
      const { found, isArray, name } = parent;
      parent.name = null;
      if (parent.count++ > 0 && isArray) return null;
      if (!found || open.length > OUTLINE_DEPTH) return null;
      pointer = below(found.pointer, isArray ? '0' : escapeSegment(JSON.parse(name!)));
    }
    const found = { order: order++, line, pointer, what };
    levels[open.length] ??= { count: 0, entries: [] };
    const level = levels[open.length]!;
    level.count++;
    if (level.entries.length < OUTLINE_ENTRIES) level.entries.push(found);
    return found;
  };
  for (let at = 0; at < text.length; ) {
    const char = text[at]!;
    const inside = open.at(-1);
    if (char === '"') {
      const quoted = text.slice(at, endOfString(text, at));
      at += quoted.length;
      if (inside && !inside.isArray && inside.name === null) inside.name = quoted;
      else begin(`string of ${quoted.length - 2}`);
      continue;
    }
    at++;
    if (char === '{' || char === '[') {
      open.push({ found: begin(''), isArray: char === '[', count: 0, name: null });
    } else if (char === '}' || char === ']') {
      const { found, isArray, count } = open.pop()!;
      if (found) found.what = `${isArray ? 'array' : 'object'} of ${count}`;
    } else if (char === '\n') line++;
    else if (!BETWEEN.includes(char)) {
      begin(char === 't' || char === 'f' ? 'boolean' : char === 'n' ? 'null' : 'number');
      while (at < text.length && !BEHIND.includes(text[at]!)) at++;
    }
  }
  return levels;
}

/** What stands between values, and what ends a number or a word. */
const BETWEEN = ' \t\r,:';
const BEHIND = ' \t\r\n,]}';

/** Behind the closing quote of the string that begins there. */
function endOfString(text: string, from: number): number {
  let end = text.indexOf('"', from + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end + 1;
}

function isEscaped(text: string, at: number): boolean {
  let slashes = 0;
  while (text[at - 1 - slashes] === '\\') slashes++;
  return slashes % 2 === 1;
}

/** What is shown of a pointer. */
const POINTER_CHARS = OUTLINE_LINE_CHARS * OUTLINE_DEPTH;

/** Cut while it grows: a long name would else be copied for every member below it. */
function below(pointer: string, segment: string): string {
  return pointer.length > POINTER_CHARS ? pointer : `${pointer}/${segment.slice(0, POINTER_CHARS)}`;
}

function shorten(pointer: string): string {
  const text = pointer.replace(/\p{Cc}/gu, ' ');
  if (text === '') return '(document)';
  return text.length > POINTER_CHARS ? `${text.slice(0, POINTER_CHARS)}…` : text;
}
