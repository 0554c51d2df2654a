import { RelayError } from '../../base/errors.ts';
import { PART_ANSWER_TOKENS, PART_CHARS } from '../../base/limits.ts';
import { type MatcherFactory, takeGrep } from './grep.ts';
import { takeJson } from './json-pointer.ts';
import { takeOutline } from './outline.ts';
import { badPart, checkPartRequest, type Part, type PartRequest, parseLineRange } from './part-request.ts';
import { CUT_MARK, type PartBody, PartText, plural, type TextLine, textLines } from './text-lines.ts';

/**
 * Returns the requested part of a text. Throws `not_text` if the body is not UTF-8, `not_json` if a JSON Pointer is
 * used on other text, and `bad_part` if the part does not exist.
 */
export async function takePart(body: PartBody, part: PartRequest, matcherFor: MatcherFactory): Promise<Part> {
  try {
    checkPartRequest(part);
  } catch (error) {
    // Close the body here, because nobody reads the body of an invalid request.
    if (!(body instanceof Uint8Array)) await body.cancel().catch(() => {});
    throw error;
  }
  if ('lines' in part) return takeLines(body, part.lines);
  if ('grep' in part) return takeGrep(body, part, matcherFor);
  if ('json' in part) return takeJson(body, part.json);
  if ('question' in part) return takeAnswer(body, part.question);
  return takeOutline(body);
}

/** Returns an excerpt for a question. Loads the excerpt code only now, because most clients never need it. */
async function takeAnswer(body: PartBody, question: string): Promise<Part> {
  const { excerpt } = await import('../excerpt/excerpt.ts');
  const chunks = body instanceof Uint8Array ? [body] : body;
  const { text, kind, lines, whole } = await excerpt(chunks, { budget: PART_ANSWER_TOKENS, question });
  if (kind === 'binary') throw new RelayError('not_text', { what: 'excerpt' });
  return {
    text,
    about: whole ? `all ${plural(lines, 'line')}` : `excerpt of ${plural(lines, 'line')} for the question`,
    truncated: false,
  };
}

/** Returns lines unchanged and without numbers. Reads a stream only to the end of the range. */
export async function takeLines(body: PartBody, lines: string): Promise<Part> {
  const range = parseLineRange(lines);
  return 'last' in range ? takeLast(body, range.last) : takeRange(body, range.from, range.to);
}

async function takeRange(body: PartBody, from: number, to: number): Promise<Part> {
  const text = new PartText();
  let last = 0;
  let lastTaken = 0;
  let cut = false;
  let full = false;
  let more = false;
  reading: for await (const batch of textLines(body, 'lines')) {
    for (const line of batch) {
      if (line.number > to) {
        more = true;
        break reading;
      }
      last = line.number;
      if (line.number < from || line.piece > 0) continue;
      full = !text.add(lineText(line));
      if (full) break reading;
      cut ||= line.more;
      lastTaken = line.number;
    }
  }
  if (lastTaken === 0) {
    const hint = `There ${last === 1 ? 'is' : 'are'} ${plural(last, 'line')}.`;
    throw badPart(`line ${from} is after the end`, hint);
  }
  const notes = [];
  if (more) notes.push('more follow');
  if (full) notes.push(`cut at ${PART_CHARS} characters; continue with lines=${lastTaken + 1}-`);
  if (cut) notes.push(`long lines are cut and marked${CUT_MARK}`);
  const total = more || full ? '' : ` of ${last}`;
  return { text: `${text}`, about: about(from, lastTaken, total, notes), truncated: full || cut };
}

async function takeLast(body: PartBody, count: number): Promise<Part> {
  let lines: string[] = [];
  let chars = 0;
  let dropped = 0;
  let last = 0;
  let cut = false;
  for await (const batch of textLines(body, 'lines')) {
    for (const line of batch) {
      last = line.number;
      if (line.piece > 0) continue;
      cut ||= line.more;
      const text = lineText(line);
      lines.push(text);
      chars += text.length + 1;
      while (lines.length - dropped > count || chars > PART_CHARS) {
        chars -= lines[dropped]!.length + 1;
        lines[dropped++] = '';
      }
      // Removing one line at a time would take quadratic time. So remove all dropped lines together when they fill half
      // of the array.
      if (dropped > 1024 && dropped * 2 > lines.length) {
        lines = lines.slice(dropped);
        dropped = 0;
      }
    }
  }
  lines = lines.slice(dropped);
  const from = last - lines.length + 1;
  const full = lines.length < Math.min(count, last);
  const notes = [];
  if (full)
    notes.push(
      `cut at ${PART_CHARS} characters; for earlier lines use lines=${Math.max(1, last - count + 1)}-${from - 1}`,
    );
  if (cut) notes.push(`long lines are cut and marked${CUT_MARK}`);
  return { text: lines.join('\n'), about: about(from, last, ` of ${last}`, notes), truncated: full || cut };
}

function lineText(line: TextLine): string {
  return line.more ? line.text + CUT_MARK : line.text;
}

function about(from: number, to: number, of: string, notes: string[]): string {
  const which = from === to ? `line ${from}` : `lines ${from}-${to}`;
  return [which + of, ...notes].join('; ');
}
