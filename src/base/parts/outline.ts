import { isRelayError } from '../errors.ts';
import { OUTLINE_ENTRIES, OUTLINE_LINE_CHARS } from '../limits.ts';
import { isDefinition } from './code-definitions.ts';
import { parseJson } from './json-pointer.ts';
import { type OutlineEntry, outlineJson } from './outline-json.ts';
import type { Part } from './part-request.ts';
import { plural } from './part-text.ts';
import { type PartBody, wholeText } from './text-lines.ts';

/**
 * What there is and at which line, so that the next question can be for lines or a JSON pointer: the shape of JSON, the
 * headings of Markdown, the definitions of code, else the first line of each paragraph.
 */
export async function takeOutline(body: PartBody): Promise<Part> {
  const { text, bytes } = await wholeText(body, 'outline');
  const { kind, entries, truncated } = outline(text);
  const head = `${kind}, ${plural(countLines(text), 'line')}, ${plural(bytes, 'byte')}`;
  const about = truncated ? `outline of ${head}; cut at ${OUTLINE_ENTRIES} entries` : `outline of ${head}`;
  return { text: [head, ...entries.map((e) => `${e.line}:${e.text}`)].join('\n'), about, truncated };
}

/** Not the preprocessor's lines of C, which may have a space behind the # too. */
const HEADING = /^#{1,6}\s+(?!(?:include|if|ifdef|ifndef|elif|else|endif|define|undef|pragma|error)\b)\S/;

interface Outline {
  readonly kind: 'json' | 'json lines' | 'markdown' | 'code' | 'text';
  readonly entries: OutlineEntry[];
  readonly truncated: boolean;
}

function outline(text: string): Outline {
  if (/^\s*[{[]/.test(text)) {
    if (isJson(text)) return { kind: 'json', ...outlineJson(text) };
    const first = /^\s*\S.*/.exec(text)?.[0] ?? '';
    if (isJson(first)) return { kind: 'json lines', ...outlineJson(first) };
  }
  return outlineText(text);
}

function isJson(text: string): boolean {
  try {
    parseJson(text);
    return true;
  } catch (error) {
    if (isRelayError(error, 'not_json')) return false;
    throw error;
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
  // A comment in Python or a shell looks like a heading: where there are definitions, a few of them do not make a document.
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

/** Line by line, without trailing white space, each cut to what an entry shows. */
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
