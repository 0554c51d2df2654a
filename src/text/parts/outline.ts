import { isRelayError } from '../../base/errors.ts';
import { escapeSegment } from '../../base/json.ts';
import { OUTLINE_DEPTH, OUTLINE_ENTRIES, OUTLINE_LINE_CHARS } from '../../base/limits.ts';
import { walkJson } from './json-pointer.ts';
import type { Part } from './part-request.ts';
import { type PartBody, plural, wholeText } from './text-lines.ts';

/**
 * Returns an outline of a text with line numbers: the structure of JSON, the headings of Markdown, the definitions of
 * code, or the first line of each paragraph of other text. The client can then request lines or a JSON Pointer.
 */
export async function takeOutline(body: PartBody): Promise<Part> {
  const { text, bytes } = await wholeText(body, 'outline');
  const { kind, entries, truncated } = outline(text);
  const head = `${kind}, ${plural(countLines(text), 'line')}, ${plural(bytes, 'byte')}`;
  const about = truncated ? `outline of ${head}; cut at ${OUTLINE_ENTRIES} entries` : `outline of ${head}`;
  return { text: [head, ...entries.map((e) => `${e.line}:${e.text}`)].join('\n'), about, truncated };
}

/**
 * Matches a Markdown heading, but not a C preprocessor line such as `# include`, which may have a space after the #.
 */
const HEADING = /^#{1,6}\s+(?!(?:include|if|ifdef|ifndef|elif|else|endif|define|undef|pragma|error)\b)\S/;

interface Outline {
  readonly kind: 'json' | 'json lines' | 'markdown' | 'code' | 'text';
  readonly entries: OutlineEntry[];
  readonly truncated: boolean;
}

function outline(text: string): Outline {
  const start = text.search(/\S/);
  if (text[start] === '{' || text[start] === '[') {
    const whole = jsonOrNull(text);
    if (whole) return { kind: 'json', ...whole };
    const end = text.indexOf('\n', start);
    const first = jsonOrNull(text.slice(0, end === -1 ? text.length : end));
    if (first) return { kind: 'json lines', ...first };
  }
  return outlineText(text);
}

/** Outlines JSON. Returns null if the text is not JSON. Throws if it is nested too deeply. */
function jsonOrNull(text: string): ReturnType<typeof outlineJson> | null {
  try {
    return outlineJson(text);
  } catch (error) {
    if (!isRelayError(error) || error.details.depth !== undefined) throw error;
    return null;
  }
}

function outlineText(text: string): Outline {
  const headings = new Entries();
  const definitions = new Entries();
  const paragraphs = new Entries();
  let fence: string | null = null;
  let fences = 0;
  let inFrontMatter = false;
  let previous = '';
  let number = 0;
  for (const line of shortLines(text)) {
    number++;
    if (line === '') {
      previous = '';
      continue;
    }
    const mark = /^ {0,3}(```|~~~)/.exec(line)?.[1];
    if (number === 1 && line === '---') inFrontMatter = true;
    else if (inFrontMatter) inFrontMatter = line !== '---';
    else if (mark && (fence === null || fence === mark)) {
      fence = fence === null ? mark : null;
      fences++;
    } else if (fence === null) {
      if (HEADING.test(line)) headings.add(number, line);
      else if (/^(?:=+|-{2,})$/.test(line) && /^[^\s\-=|>*#]/.test(previous))
        headings.add(number - 1, previous);
      if (isDefinition(line)) definitions.add(number, line);
    }
    if (previous === '') paragraphs.add(number, line);
    previous = line;
  }
  // Comments in Python and shell look like headings. A text with enough definitions and without code fences is code.
  const isCode = definitions.count > 0 && fences === 0 && definitions.count * 3 >= headings.count;
  if (isCode) return { kind: 'code', ...definitions.done() };
  if (headings.count > 0) return { kind: 'markdown', ...headings.done() };
  return { kind: 'text', ...paragraphs.done() };
}

class Entries {
  readonly #entries: OutlineEntry[] = [];
  count = 0;

  add(line: number, text: string): void {
    if (this.count++ < OUTLINE_ENTRIES) this.#entries.push({ line, text });
  }

  done(): { entries: OutlineEntry[]; truncated: boolean } {
    return { entries: this.#entries, truncated: this.count > OUTLINE_ENTRIES };
  }
}

/** Yields lines without trailing white space, each cut to the length of an entry. */
function* shortLines(text: string): Generator<string> {
  for (let from = 0; from < text.length; ) {
    const at = text.indexOf('\n', from);
    const to = at === -1 ? text.length : at;
    const line = text.slice(from, Math.min(to, from + OUTLINE_LINE_CHARS)).trimEnd();
    yield to - from > OUTLINE_LINE_CHARS ? `${line}…` : line;
    from = to + 1;
  }
}

function countLines(text: string): number {
  let lines = text === '' || text.endsWith('\n') ? 0 : 1;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines++;
  return lines;
}

/**
 * Returns whether a line looks like a definition in a common programming language. This is a guess, because real
 * parsers would need a dependency per language. The lines were already shortened, so no pattern takes long.
 */
function isDefinition(line: string): boolean {
  if (!HAS_WORD.test(line) && !/[{(]\s*$/.test(line)) return false;
  return DEFINITIONS.some((pattern) => pattern.test(line));
}

const HAS_WORD =
  /\b(?:function|class|interface|enum|namespace|type|const|let|var|def|module|func|fn|struct|trait|impl|mod|macro_rules|union|fun|object|protocol|extension|record|public|private|protected|internal|typedef|define|extern|static|inline|create)\b|\(\)/i;

/**
 * Indentation of a definition: at most 8 spaces or 2 tabs, as for a class method. Definitions with more are not
 * listed.
 */
const INDENT = '^(?: {0,8}|\\t{0,2})';

const DEFINITIONS = [
  // Definitions in JavaScript, TypeScript and PHP
  'INDENT(?:export +)?(?:default +)?(?:declare +)?(?:abstract +)?(?:async +)?function *\\*? *[\\w$]* *[(<]',
  'INDENT(?:export +)?(?:default +)?(?:declare +)?(?:(?:abstract|final|sealed|data|open|public|private|partial|static) +)*(?:class|interface|enum|object|record|protocol|extension|namespace|module) +[A-Za-z_$][\\w$.:]* *(?:[({:<,]|extends\\b|implements\\b|where\\b|$)',
  '^(?:export +)?(?:declare +)?type +[\\w$]+(?: *<[^=]*>)? *=',
  '^export +(?:const|let|var) +[\\w$]+',
  '^(?:const|let|var) +[\\w$]+ *(?::[^=]*)?= *(?:async *)?(?:function\\b|(?:\\([^)]*\\)|[\\w$]+) *(?::[^=]*)?=>)',
  // Definitions in Python and Ruby
  'INDENT(?:async +)?def +[\\w.]+[?!=]? *(?:\\(|:|$)',
  // Definitions in Go
  '^func +(?:\\([^)]*\\) *)?\\w+ *[(\\[]',
  '^type +\\w+(?:\\[[^\\]]*\\])? +(?:struct|interface|func|map|\\[|\\*|[A-Za-z])[^.]*$',
  // Definitions in Rust, Swift and Kotlin
  'INDENT(?:pub(?:\\([^)]*\\))? +)?(?:(?:const|unsafe|async|static|override|private|public|internal|open|suspend|inline|mutating) +)*(?:fn|func|fun) +(?:<[^>]*> *)?[\\w.`]+ *[(<]',
  "INDENT(?:pub(?:\\([^)]*\\))? +)?(?:unsafe +)?(?:struct|enum|trait|union|mod|impl)\\b(?: *<[^>]*>)? +[A-Za-z_][\\w:<>', &]*(?:[{(;]| for |$)",
  '^macro_rules! +\\w+',
  // Definitions in Java and C#
  'INDENT(?:public|private|protected|internal|static|final|abstract|override|virtual|async|synchronized|native) [\\w<>\\[\\],.? ]+[({]',
  // Definitions in C and C++
  '^(?:typedef +)?(?:struct|union|enum)(?: +\\w+)? *\\{?$',
  '^# *define +\\w+\\(',
  '^(?:extern|static|inline) [^;={]*\\(',
  // A header that ends with an opening brace, in any language: a C function, a method, a test.
  'INDENT(?![^(]*\\b(?:if|for|while|switch|else|catch|return|do|with|await|throw|new|case)\\b)[A-Za-z_$*~#][\\w$ *&:<>,~.\\[\\]#]*\\([^;{}]*\\)[^;{}()]*\\{$',
  // Definitions in shell scripts
  '^(?:function +)?[\\w-]+ *\\(\\) *\\{?$',
  // Definitions in SQL
  '^create +(?:or +replace +)?(?:temp(?:orary)? +|unique +|materialized +)*(?:table|view|index|function|procedure|trigger|type|schema)\\b',
].map((source) => new RegExp(source.replace('INDENT', INDENT), source.startsWith('^create') ? 'i' : ''));

interface OutlineEntry {
  readonly line: number;
  readonly text: string;
}

/**
 * Outlines JSON: lists the pointer, type and length of each value, and only the first item of an array. Lists a
 * nesting level only if the whole level fits, so that one large member does not hide the others. Throws if the text
 * is not JSON.
 */
function outlineJson(text: string): { entries: OutlineEntry[]; truncated: boolean } {
  const levels = shapeOf(text);
  let depth = 0;
  let count = 0;
  while (depth < levels.length && (depth === 0 || count + levels[depth]!.count <= OUTLINE_ENTRIES)) {
    count += levels[depth++]!.count;
  }
  // If even the second level has too many entries, list its beginning instead of nothing.
  const wide = depth === 1 && levels.length > 1;
  const listed = levels.slice(0, wide ? 2 : depth).flatMap((level) => level.entries);
  listed.sort((a, b) => a.order - b.order);
  const entries = listed
    .slice(0, OUTLINE_ENTRIES)
    .map(({ line, pointer, what }) => ({ line, text: `${shorten(pointer)} ${what}` }));
  return { entries, truncated: depth < levels.length };
}

interface Found {
  readonly order: number;
  readonly line: number;
  readonly from: number;
  readonly pointer: string;
  what: string;
}

interface Level {
  count: number;
  readonly entries: Found[];
}

/**
 * Collects the values of a JSON text by nesting level. Scans the text instead of a parsed value, because only the
 * text has line numbers.
 */
function shapeOf(text: string): Level[] {
  const levels: Level[] = [];
  let [line, lineEnd, order] = [1, text.indexOf('\n'), 0];
  walkJson<Found>(
    text,
    (kind, from, parent, depth) => {
      // Skip values that are too deep, and all array items except the first.
      if (parent && (!parent.found || depth > OUTLINE_DEPTH || (parent.isArray && parent.count > 0)))
        return null;
      for (; lineEnd !== -1 && lineEnd < from; lineEnd = text.indexOf('\n', lineEnd + 1)) line++;
      const name = () => escapeSegment(JSON.parse(parent!.name));
      const pointer = parent?.found ? below(parent.found.pointer, parent.isArray ? '0' : name()) : '';
      const found = { order: order++, line, from, pointer, what: kind };
      levels[depth] ??= { count: 0, entries: [] };
      const level = levels[depth];
      level.count++;
      if (level.entries.length < OUTLINE_ENTRIES) level.entries.push(found);
      return found;
    },
    (found, to, count) => {
      if (found.what === 'string') found.what += ` of ${to - found.from - 2}`;
      else if (found.what === 'object' || found.what === 'array') found.what += ` of ${count}`;
    },
  );
  return levels;
}

/** Maximum number of characters of a pointer that are shown. */
const POINTER_CHARS = OUTLINE_LINE_CHARS * OUTLINE_DEPTH;

/**
 * Appends a segment to a pointer. A pointer that is too long stays unchanged; otherwise a long name would be copied
 * for every value below it.
 */
function below(pointer: string, segment: string): string {
  return pointer.length > POINTER_CHARS ? pointer : `${pointer}/${segment.slice(0, POINTER_CHARS)}`;
}

function shorten(pointer: string): string {
  const text = pointer.replace(/\p{Cc}/gu, ' ');
  if (text === '') return '(document)';
  return text.length > POINTER_CHARS ? `${text.slice(0, POINTER_CHARS)}…` : text;
}
