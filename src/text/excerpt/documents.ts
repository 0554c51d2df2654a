import { Fields, JsonPairs } from './fields.ts';
import type { Line } from './line-reader.ts';
import type { ExcerptKind } from './recognisers.ts';

/** Number of lines at the start of a text that are read to decide whether it is a document. */
export const LOOK_LINES = 30;

/** Reports an important line. */
type Found = (line: Line, priority: number) => void;

/** Ranks the lines of a text that is not the output of a run, such as JSON, a table, a listing, a diff or HTML. */
export interface DocumentReader {
  readonly kind: ExcerptKind;
  /** Reads a line. Calls `found` immediately if the line is important regardless of later lines. */
  add(line: Line, found: Found): void;
  /** Calls `found` for the lines whose importance is known only at the end. */
  end(found: Found): void;
}

/** Returns the reader for a document. Returns null if the text looks like the output of a run. */
export function documentReader(start: readonly Line[]): DocumentReader | null {
  const lines = start
    .filter(({ text, column }) => column === 0 && text.trim() !== '')
    .map(({ text }) => text);
  const share = (test: (line: string) => boolean) => lines.filter(test).length / Math.max(1, lines.length);
  const first = lines[0] ?? '';
  if (JSON_START.test(first) && share((line) => JSON_LINE.test(line)) > 0.9) return new JsonReader();
  if (/^\s*(?:<!doctype html|<html|<head|<body)/i.test(first)) return new HtmlReader();
  if (isDiff(lines) || share((line) => STAT.test(line)) > 0.8) return new DiffReader();
  if (share((line) => LISTED.test(line)) > 0.8) return new ListingReader();
  const split = cellSplitter(lines);
  return split && new TableReader(split);
}

function isDiff(lines: readonly string[]): boolean {
  const starts = (line: string, i: number) =>
    DIFF_START.test(line) && (line[0] !== '-' || /^\+\+\+ /.test(lines[i + 1] ?? ''));
  const first = lines[0] ?? '';
  return (
    /^commit [0-9a-f]{7}/.test(first) ||
    (/^(?:diff|---|Index|\S+ [0-9a-f]{7})/.test(first) && lines.some(starts))
  );
}

const JSON_START = /^\s*(?:\{\s*(?:$|["}])|\[\s*(?:$|["{[\]]|-?\d+(?:\.\d+)?\s*[,\]]|true|false|null))/;
const JSON_LINE = /^\s*(?:[{}[\]"]|-?\d|true|false|null)/;
const DIFF_START = /^(?:diff --git |--- \S|@@ -\d)/;
/** Matches a file in the output of `git diff --stat`. */
const STAT = /^ \S.* \|\s+(?:(\d+)|Bin\b)/;
/** Matches a path without spaces, or a row of `ls -l`, `tree` or `du`. */
const LISTED =
  /^(?:total \d+$|[-dlbcps][rwxsStT-]{9}[.+@]?\s|[│├└\s]*[├└]── |\s*\d[\d.]*[KMGT]?\s+\S+$|\.?[\w@.~+-]*\/[^\s:,()]*:?$|[\w@+-][\w.@+-]*\.\w{1,8}$)/;

/** Returns a function that splits the rows of a table into cells. Returns null if the lines are not a table. */
function cellSplitter(lines: readonly string[]): ((line: string) => string[]) | null {
  if (lines.length < 4) return null;
  for (const separator of [',', '\t', ';', '|', '│']) {
    const counts = lines.map((line) => line.replace(/"[^"]*"/g, '').split(separator).length);
    const usual = counts[counts.length >> 1]!;
    const steady = counts.filter((count) => count === usual).length / counts.length;
    const spaced = separator === ',' && lines.every((line) => /, /.test(line));
    if (usual >= 3 && steady > 0.9 && !spaced) return (line) => splitCells(line, separator);
  }
  const columns = lines[0]!.trim().split(/\s+/);
  const isHeader = columns.length >= 3 && columns.every((word) => /^[A-Z%][A-Z0-9%_().:/-]*$/.test(word));
  if (!isHeader) return null;
  return (line) => {
    const cells = line.trim().split(/\s+/);
    return [...cells.slice(0, columns.length - 1), cells.slice(columns.length - 1).join(' ')];
  };
}

function splitCells(line: string, separator: string): string[] {
  if (!line.includes('"')) return line.split(separator);
  return line.split(new RegExp(`\\${separator}(?=(?:[^"]*"[^"]*")*[^"]*$)`));
}

/**
 * Reads documents whose lines have values. Lines with rare values and extreme numbers rank above examples of common
 * values.
 */
abstract class FieldReader implements DocumentReader {
  abstract readonly kind: ExcerptKind;
  protected readonly fields = new Fields();

  abstract add(line: Line, found: Found): void;

  end(found: Found): void {
    this.fields.unusual((line, rarity) =>
      found(line, rarity >= 0.5 ? 560 + 60 * rarity : 200 + 400 * rarity),
    );
  }
}

class TableReader extends FieldReader {
  readonly kind = 'table';
  readonly #split: (line: string) => string[];

  constructor(split: (line: string) => string[]) {
    super();
    this.#split = split;
  }

  add(line: Line, found: Found): void {
    if (line.column > 0) return;
    if (line.number === 1) found(line, 990);
    else
      for (const [i, cell] of this.#split(line.text).entries()) this.fields.add(String(i), cell.trim(), line);
  }
}

class ListingReader extends FieldReader {
  readonly kind = 'listing';

  add(line: Line): void {
    const row = /^(\S{10,11})\s+\d+\s+(\S+)\s+\S+\s+(\d+)\s+.*?([^/\s]*)$/.exec(line.text);
    const sized = /^\s*(\d[\d.]*)([KMGT]?)\s+(\S+)$/.exec(line.text);
    const path = row?.[4] ?? sized?.[3] ?? line.text.trim();
    if (path.endsWith(':') || /^total \d+$/.test(line.text)) return;
    this.fields.add('extension', /\.[A-Za-z]\w{0,9}$/.exec(path)?.[0] ?? '', line);
    if (row) this.fields.add('size', row[3]!, line);
    if (sized)
      this.fields.add('size', String(Number(sized[1]) * 1024 ** ' KMGT'.indexOf(sized[2] || ' ')), line);
  }
}

/** These patterns find keys and values of JSON that report a failure. */
const FAILURE_KEY = /^"(?:err|error|exception|fault|failure)s?(?:_?(?:message|msg|code|reason))?"$/i;
const NO_FAILURE = /^(?:null|false|0|"(?:none|ok|nil|0)?"?)$/i;
const STATE_KEY = /^"(?:status|state|phase|result|outcome|conclusion|severity|level|type|event|reason)"$/i;
const FAILED = /fail|error|fatal|critical|crash|reject|denied|timed?[_-]?out|abort|backoff|oom|unhealthy/i;
const CODE_KEY = /^"(?:status|code|status_?code|http_?status)"$/i;
const FAILURE_OBJECT = /"(?:errors?|exception|failures?)"\s*:\s*[{[]\s*$/;

function isFailure(key: string, value: string): boolean {
  if (FAILURE_KEY.test(key)) return !NO_FAILURE.test(value);
  if (CODE_KEY.test(key) && /^"?[45]\d\d"?$/.test(value)) return true;
  return STATE_KEY.test(key) && (FAILED.test(value) || (/^"level"$/i.test(key) && /^[56]0$/.test(value)));
}

/** Number of lines after the start of an error object that belong to the failure. */
const FAILURE_LINES = 6;

class JsonReader extends FieldReader {
  readonly kind = 'json';
  readonly #pairs = new JsonPairs();
  /** Array elements around the current line of a pretty-printed document, each with its first lines. */
  #elements: { readonly indent: number; readonly lines: Line[] }[] = [];
  #failures = 0;
  #failureLines = 0;

  add(line: Line, report: Found): void {
    const { text } = line;
    const indent = text.search(/\S/);
    if (indent > 0) this.#elements = this.#elements.filter((element) => element.indent < indent);
    if (indent > 0 && text.trim() === '{') this.#elements.push({ indent, lines: [] });
    else if (!/[{[\]},]\s*$/.test(text) || /[^\]}]\s*,\s*$/.test(text))
      for (const { lines } of this.#elements) if (lines.length < 2) lines.push(line);
    const placed = { ...line, context: this.#elements.map(({ lines }) => lines) };
    if (/^\s*[}\]]/.test(text)) this.#failureLines = 0;
    if (this.#failureLines-- > 0)
      report(placed, this.#failures <= 1 ? 970 : 640 - Math.min(300, 8 * this.#failures));
    if (FAILURE_OBJECT.test(text)) this.#failureLines = FAILURE_LINES;
    this.#pairs.read(text, (key, value, depth) => {
      if (isFailure(key, value)) {
        report(placed, this.#failures++ === 0 ? 980 : 640 - Math.min(300, 8 * this.#failures));
        // A reason or message usually follows, so treat the next lines as part of the failure.
        if (indent > 0) this.#failureLines = 3;
      }
      this.fields.add(`${depth}${key}`, value.replace(/^"|"$/g, ''), placed);
    });
  }
}

class DiffReader implements DocumentReader {
  readonly kind = 'diff';
  readonly #fields = new Fields();
  #files = 0;
  #changes = 0;
  #part: 'message' | 'header' | 'hunk' = 'header';

  add(line: Line, report: Found): void {
    const { text } = line;
    // Later files, and later changes of a file, rank lower.
    const behind = 3 * Math.min(100, this.#files);
    const stat = this.#part === 'hunk' ? null : STAT.exec(text);
    if (/^commit [0-9a-f]{7}/.test(text)) {
      this.#part = 'message';
      this.#files++;
      report(line, 690 - behind);
    } else if (/^(?:diff |--- |Index: )/.test(text)) this.#part = 'header';
    else if (stat) {
      this.#fields.add('changes', stat[1] ?? '', line);
      report(line, 420 - behind);
    } else if (this.#part === 'message') {
      const files = /^ (\d+) files? changed/.exec(text);
      if (files) this.#fields.add('files', files[1]!, line);
      report(line, (text.startsWith('    ') ? 680 : 400) - behind);
    } else if (/^(?:\+\+\+ (?!\/dev\/null)|Only in |Binary files |rename |deleted file)/.test(text)) {
      this.#files++;
      this.#changes = 0;
      report(line, 690 - behind);
    } else if (text.startsWith('@@')) {
      this.#part = 'hunk';
      report(line, 300 - behind / 3);
    } else if (/^[+-]/.test(text) && text.trim().length > 3) {
      if (++this.#changes <= 40) report(line, 640 - 14 * this.#changes - behind);
    }
  }

  end(found: Found): void {
    this.#fields.unusual((line, rarity) => rarity > 0.1 && found(line, 500 + 100 * rarity));
  }
}

class HtmlReader implements DocumentReader {
  readonly kind = 'html';
  #headings = 0;
  /** Number of lines of text since the last heading. */
  #texts = 0;
  /** Kind of the current HTML element, if the content of the element is not part of the page's text. */
  #aside: 'code' | 'nav' | null = null;

  add(line: Line, report: Found): void {
    const { text } = line;
    if (/<(?:script|style|svg)\b/i.test(text)) this.#aside = 'code';
    else if (/<nav\b/i.test(text)) this.#aside = 'nav';
    const aside = this.#aside;
    if (/<\/(?:script|style|svg|nav)>/i.test(text)) this.#aside = null;
    if (aside === 'code' || !/[\p{L}\p{N}]{2}/u.test(text.replace(/<[^<>]*>/g, ' '))) return;
    const behind = Math.min(300, 4 * this.#headings);
    if (aside === 'nav') report(line, 250);
    else if (/<(?:title|h1)\b/i.test(text)) report(line, 700);
    else if (/<h[2-4]\b/i.test(text)) {
      this.#headings++;
      this.#texts = 0;
      report(line, 660 - behind);
    } else {
      report(line, 590 - behind - 8 * Math.min(30, this.#texts++));
    }
  }

  end(): void {}
}
