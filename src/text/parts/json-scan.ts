import { RelayError } from '../../base/errors.ts';
import { JSON_DEPTH } from '../../base/limits.ts';

/** A value where it stands in a JSON text. */
export interface JsonSpan {
  readonly from: number;
  /** Exclusive. */
  to: number;
  readonly kind: 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null';
  /** Members or items. */
  count: number;
}

interface Open {
  readonly isArray: boolean;
  /** Where it lies on the path, else null. */
  readonly span: JsonSpan | null;
  count: number;
  /** The name of the member that comes next, with its quotes. */
  name: string;
}

/**
 * Checks a JSON text and finds what lies on a path into it: the document, then the value of each segment as far as there is
 * one. Of members with one name the last counts, as for JSON.parse. One pass that keeps nothing of the text: JSON.parse makes
 * half a gigabyte of 24 MB of `{},{},…`, cannot be interrupted, and takes the process along where a thread has no room.
 */
export function scanJson(text: string, path: readonly string[] = []): JsonSpan[] {
  const open: Open[] = [];
  const found: JsonSpan[] = [];
  let at = 0;
  const begin = (kind: JsonSpan['kind']): JsonSpan | null => {
    const parent = open.at(-1);
    const index = parent ? parent.count++ : 0;
    const depth = open.length;
    if (parent) {
      if (!parent.span || depth > path.length) return null;
      const segment = path[depth - 1]!;
      if (parent.isArray ? String(index) !== segment : !isNamed(parent.name, segment)) return null;
    }
    const span = { from: at, to: at, kind, count: 0 };
    found.splice(depth, found.length, span);
    return span;
  };
  /** Reads a name up to its value. */
  const name = (): void => {
    at = behindSpace(text, at);
    const end = behindString(text, at);
    open.at(-1)!.name = open.at(-1)!.span ? text.slice(at, end) : '';
    at = behindSpace(text, end);
    if (text[at++] !== ':') throw broken(text, at - 1);
  };
  for (;;) {
    at = behindSpace(text, at);
    const kind = kindAt(text, at);
    const span = begin(kind);
    if (kind === 'object' || kind === 'array') {
      if (open.length === JSON_DEPTH) throw tooDeep();
      open.push({ isArray: kind === 'array', span, count: 0, name: '' });
      at = behindSpace(text, at + 1);
      if (text[at] !== (kind === 'array' ? ']' : '}')) {
        if (kind === 'object') name();
        continue;
      }
    } else {
      at = kind === 'string' ? behindString(text, at) : behindWord(text, at);
      if (span) span.to = at;
    }
    // Behind a value: what ends here, and whether another one follows.
    for (;;) {
      at = behindSpace(text, at);
      const inside = open.at(-1);
      if (!inside) {
        if (at < text.length) throw broken(text, at);
        return found;
      }
      const char = text[at++];
      if (char === ',') {
        if (!inside.isArray) name();
        break;
      }
      if (char !== (inside.isArray ? ']' : '}')) throw broken(text, at - 1);
      open.pop();
      if (inside.span) Object.assign(inside.span, { to: at, count: inside.count });
    }
  }
}

function isNamed(quoted: string, name: string): boolean {
  return quoted.includes('\\') ? JSON.parse(quoted) === name : quoted === `"${name}"`;
}

function kindAt(text: string, at: number): JsonSpan['kind'] {
  const char = text[at];
  if (char === '{') return 'object';
  if (char === '[') return 'array';
  if (char === '"') return 'string';
  if (char === 't' || char === 'f') return 'boolean';
  return char === 'n' ? 'null' : 'number';
}

function behindSpace(text: string, from: number): number {
  let at = from;
  for (; ; at++) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at;
  }
}

const WORD = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;

function behindWord(text: string, from: number): number {
  WORD.lastIndex = from;
  if (!WORD.test(text)) throw broken(text, from);
  return WORD.lastIndex;
}

function behindString(text: string, from: number): number {
  if (text[from] !== '"') throw broken(text, from);
  for (let at = from + 1; at < text.length; ) {
    const code = text.charCodeAt(at);
    if (code === 0x22) return at + 1;
    if (code < 0x20) throw broken(text, at);
    if (code === 0x5c) {
      ESCAPE.lastIndex = at;
      if (!ESCAPE.test(text)) throw broken(text, at);
      at = ESCAPE.lastIndex;
    } else at++;
  }
  throw broken(text, text.length);
}

/** Says where, and quotes nothing of the payload. */
function broken(text: string, at: number): RelayError {
  const start = behindSpace(text, 0);
  if (at === start && at < text.length)
    return new RelayError('not_json', { what: 'it does not begin as JSON does' });
  if (at >= text.length) return new RelayError('not_json', { what: 'it breaks off' });
  let line = 1;
  let from = 0;
  for (let end = text.indexOf('\n'); end !== -1 && end < at; end = text.indexOf('\n', from)) {
    line++;
    from = end + 1;
  }
  return new RelayError('not_json', { what: `it breaks at line ${line}, column ${at - from + 1}` });
}

function tooDeep(): RelayError {
  return new RelayError('not_json', {
    what: `it is nested too deeply, more than ${JSON_DEPTH} levels`,
    depth: JSON_DEPTH,
  });
}
