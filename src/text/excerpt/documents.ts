import { Fields, JsonPairs } from './fields.ts';
import type { Line } from './line-reader.ts';
import { type ExcerptKind, recognise } from './recognisers.ts';

/** Lines at the start of a text that decide whether it is a document. */
export const LOOK_LINES = 30;

/** Reports an important line, and lines that explain it. */
type Found = (line: Line, priority: number, context?: readonly Line[]) => void;

/** Ranks the lines of a text that is not the output of a run: JSON, a table, a listing, a diff, HTML. */
export interface DocumentReader {
  readonly kind: ExcerptKind;
  /** Takes a line. Calls `found` for a line that is important whatever follows. */
  add(line: Line, found: Found): void;
  /** Calls `found` for lines whose importance is known only at the end. */
  end(found: Found): void;
}

/** Returns the reader for a document, or null if the text looks like the output of a run. */
export function documentReader(start: readonly Line[], kind?: ExcerptKind): DocumentReader | null {
  const lines = start
    .filter(({ text, column }) => column === 0 && text.trim() !== '')
    .map(({ text }) => text);
  const share = (test: (line: string) => boolean) => lines.filter(test).length / Math.max(1, lines.length);
  const first = lines[0] ?? '';
  const is = (name: ExcerptKind, guess: () => boolean) => (kind ? kind === name : guess());
  if (is('json', () => JSON_START.test(first) && share((line) => JSON_LINE.test(line)) > 0.9))
    return new JsonReader();
  if (is('html', () => /^\s*(?:<!doctype html|<html|<head|<body)/i.test(first))) return new HtmlReader();
  if (
    is(
      'diff',
      () =>
        lines.some(
          (line, i) => DIFF_START.test(line) && (line[0] !== '-' || /^\+\+\+ /.test(lines[i + 1] ?? '')),
        ) && /^(?:diff|---|commit|Index|\S+ [0-9a-f]{7})/.test(first),
    )
  )
    return new DiffReader();
  if (is('listing', () => share((line) => LISTED.test(line)) > 0.8)) return new ListingReader();
  const split = is('table', () => true) ? cellSplitter(lines) : null;
  return split && new TableReader(split, lines[0]!);
}

const JSON_START = /^\s*(?:\{\s*(?:$|["}])|\[\s*(?:$|["{[\]]|-?\d+(?:\.\d+)?\s*[,\]]|true|false|null))/;
const JSON_LINE = /^\s*(?:[{}[\]"]|-?\d|true|false|null)/;
const DIFF_START = /^(?:diff --git |--- \S|@@ -\d)/;
/** A path without spaces, or a row of `ls -l`, `tree` or `du`. */
const LISTED =
  /^(?:total \d+$|[-dlbcps][rwxsStT-]{9}[.+@]?\s|[│├└\s]*[├└]── |\d[\d.]*[KMGT]?\t\S|\.?[\w@.~+-]*\/[^\s:,()]*:?$|[\w@+-][\w.@+-]*\.\w{1,8}$)/;

/** Returns how to split the rows of a table into cells, or null if the lines are no table. */
function cellSplitter(lines: readonly string[]): ((line: string) => string[]) | null {
  if (lines.length < 4) return null;
  for (const separator of [',', '\t', ';', '|']) {
    const counts = lines.map((line) => line.replace(/"[^"]*"/g, '').split(separator).length);
    const usual = counts[0]!;
    const steady = counts.filter((count) => count === usual).length / counts.length;
    const spaced = separator === ',' && lines.every((line) => /, /.test(line));
    if (usual >= 3 && steady > 0.9 && !spaced) return (line) => splitCells(line, separator);
  }
  const words = lines[0]!.trim().split(/\s+/);
  const isHeader = words.length >= 3 && words.every((word) => /^[A-Z%][A-Z0-9%_().:/-]*$/.test(word));
  if (!isHeader) return null;
  return (line) => {
    const cells = line.trim().split(/\s+/);
    return [...cells.slice(0, words.length - 1), cells.slice(words.length - 1).join(' ')];
  };
}

function splitCells(line: string, separator: string): string[] {
  if (!line.includes('"')) return line.split(separator);
  return line.split(new RegExp(`\\${separator}(?=(?:[^"]*"[^"]*")*[^"]*$)`));
}

/** Priorities: rare values and outliers, examples of common values. */
function fieldPriority(rarity: number): number {
  return rarity >= 0.5 ? 560 + 60 * rarity : 300 + 100 * rarity;
}

class TableReader implements DocumentReader {
  readonly kind = 'table';
  readonly #split: (line: string) => string[];
  readonly #fields = new Fields();
  readonly #columns: number;

  constructor(split: (line: string) => string[], header: string) {
    this.#split = split;
    this.#columns = split(header).length;
  }

  add(line: Line, found: Found): void {
    if (line.column > 0) return;
    if (line.number === 1) found(line, 990);
    const cells = this.#split(line.text);
    // A row of another width is a footer, a note, or damaged.
    if (line.number > 1 && cells.length !== this.#columns)
      this.#fields.add('width', String(cells.length), line);
    else if (line.number > 1)
      for (const [i, cell] of cells.entries()) this.#fields.add(String(i), cell.trim(), line);
  }

  end(found: Found): void {
    this.#fields.unusual((line, rarity) => found(line, fieldPriority(rarity)));
  }
}

class ListingReader implements DocumentReader {
  readonly kind = 'listing';
  readonly #fields = new Fields();

  add(line: Line, found: Found): void {
    const row = /^(\S{10,11})\s+\d+\s+(\S+)\s+\S+\s+(\d+)\s+.*?([^/\s]*)$/.exec(line.text);
    const path = row ? row[4]! : line.text.trim();
    if (path.endsWith(':')) found(line, 330 - Math.min(100, line.number / 10));
    if (path.endsWith(':') || /^total \d+$/.test(line.text)) return;
    this.#fields.add('extension', /\.[A-Za-z]\w{0,9}$/.exec(path)?.[0] ?? '', line);
    if (row) {
      this.#fields.add('mode', row[1]!, line);
      this.#fields.add('owner', row[2]!, line);
      this.#fields.add('size', row[3]!, line);
    } else
      this.#fields.add(
        'folder',
        path
          .split('/')
          .slice(0, path.startsWith('.') ? 2 : 1)
          .join('/'),
        line,
      );
    const size = /^(\d[\d.]*)([KMGT]?)\t/.exec(line.text);
    if (size)
      this.#fields.add('size', String(Number(size[1]) * 1024 ** ' KMGT'.indexOf(size[2] || ' ')), line);
  }

  end(found: Found): void {
    this.#fields.unusual((line, rarity) => found(line, fieldPriority(rarity)));
  }
}

class JsonReader implements DocumentReader {
  readonly kind = 'json';
  readonly #fields = new Fields();
  readonly #pairs = new JsonPairs();
  /** First lines of the current object of a pretty-printed document; they usually name it. */
  #object: Line[] = [];
  readonly #objectOf = new WeakMap<Line, Line[]>();

  add(line: Line, found: Found): void {
    if (/[{[]\s*$/.test(line.text)) this.#object = [];
    else if (this.#object.length < 2) this.#object.push(line);
    this.#objectOf.set(line, this.#object);
    this.#pairs.read(line.text, (key, value, depth) => {
      // Members of the outermost object, except in JSON Lines.
      if (depth === 1 && !/^\s*\{.*\}\s*$/.test(line.text)) found(line, 610);
      this.#fields.add(`${depth}${key}`, value.replace(/^"|"$/g, ''), line);
    });
  }

  end(found: Found): void {
    this.#fields.unusual((line, rarity) => found(line, fieldPriority(rarity), this.#objectOf.get(line)));
  }
}

class DiffReader implements DocumentReader {
  readonly kind = 'diff';
  #files = 0;
  #changes = 0;
  #inMessage = false;

  add(line: Line, found: Found): void {
    const { text } = line;
    // Later files and later changes of a file come after earlier ones.
    const behind = 3 * Math.min(100, this.#files);
    if (/^commit [0-9a-f]{7}/.test(text)) {
      this.#inMessage = true;
      found(line, 690 - behind);
    } else if (/^(?:diff |--- |Index: )/.test(text)) this.#inMessage = false;
    else if (this.#inMessage) found(line, (text.startsWith(' ') ? 680 : 420) - behind);
    else if (/^(?:\+\+\+ (?!\/dev\/null)|Only in |Binary files |rename |deleted file)/.test(text)) {
      this.#files++;
      this.#changes = 0;
      found(line, 690 - behind);
    } else if (/^[+-]/.test(text) && text.trim().length > 3) {
      if (++this.#changes <= 40) found(line, 640 - 14 * this.#changes - behind);
    } else if (text.startsWith('@@')) found(line, 300 - behind / 3);
  }

  end(): void {}
}

class HtmlReader implements DocumentReader {
  readonly kind = 'html';
  #texts = 0;
  #inCode = false;

  add(line: Line, found: Found): void {
    const { text } = line;
    if (/<(?:script|style|svg)\b/i.test(text)) this.#inCode = true;
    const words = this.#inCode ? null : text.replace(/<[^<>]*>/g, ' ').match(/[\p{L}\p{N}]{2,}/gu);
    if (/<\/(?:script|style|svg)>/i.test(text)) this.#inCode = false;
    if (/<(?:title|h[1-3])\b/i.test(text)) found(line, 660);
    else if (words)
      found(line, (recognise(line).rank === 'error' ? 650 : 520) - Math.min(200, this.#texts++));
  }

  end(): void {}
}
