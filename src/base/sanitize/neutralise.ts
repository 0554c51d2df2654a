import { encodedRuns, unescaped } from './encodings.ts';
import { stripInvisible } from './invisible.ts';
import { markupIn } from './markup.ts';
import { type Pattern, patterns, SQUEEZED_PATTERN } from './patterns.ts';
import { piecesOf, type Reading, readAs } from './reading.ts';

/**
 * Makes data of a text that is about to be shown to a model: what could pass for an instruction, a turn of a
 * conversation or a tool call is replaced by a mark that says so, and what cannot be seen is taken out. Harmless text
 * comes back as it is. The stored content is never touched; this is for what travels.
 */
export function neutralise(text: string): string {
  const visible = stripInvisible(text);
  const spans = merge(suspects(visible));
  let out = '';
  let at = 0;
  for (const { start, end, kind } of spans) {
    out += `${visible.slice(at, start)}[removed: ${kind}]`;
    at = end;
  }
  return out + visible.slice(at);
}

/** Whether there is anything in it that `neutralise` would take out. */
export function isSuspect(text: string): boolean {
  return suspects(stripInvisible(text)).length > 0;
}

interface Span {
  readonly start: number;
  readonly end: number;
  readonly kind: string;
}

/** Encodings within encodings are followed this deep. */
const DEPTH = 2;

function suspects(text: string, depth = DEPTH): Span[] {
  if (text.length < 4) return [];
  const spans = [...markup(text), ...instructions(text)];
  if (depth > 0) {
    for (const { start, end, decoded } of encodedRuns(text)) {
      if (suspects(stripInvisible(decoded), depth - 1).length > 0) {
        spans.push({ start, end, kind: 'encoded instruction' });
      }
    }
  }
  return spans;
}

function* markup(text: string): Generator<Span> {
  if (!/[<[:>＜｜［：]|&lt|\\u|%3c/i.test(text)) return;
  yield* markupIn(text);
  const pieces = unescaped(text);
  if (!pieces) return;
  const { chars, starts, ends } = pieces;
  const owner = chars.flatMap((char, i) => Array.from({ length: char.length }, () => i));
  for (const { start, end, kind } of markupIn(chars.join(''))) {
    yield { start: starts[owner[start]!]!, end: ends[owner[end - 1]!]!, kind };
  }
}

function* instructions(text: string): Generator<Span> {
  const all = patterns();
  const core = all.filter((pattern) => pattern.core);
  const pieces = piecesOf(text);
  const plain = readAs(pieces);
  yield* found(plain, all);
  const seen = readAs(pieces, { lookAlikes: true });
  if (seen.text !== plain.text) yield* found(seen, all);
  yield* found(seen, [SQUEEZED_PATTERN]);
  yield* spelt(seen);
  yield* found(turned(seen), core);
  yield* found(shifted(seen), core);
  const escaped = unescaped(text);
  if (!escaped) return;
  const decoded = readAs(escaped, { lookAlikes: true });
  yield* found(decoded, all);
  yield* found(decoded, [SQUEEZED_PATTERN]);
}

function* found(reading: Reading, looked: readonly Pattern[]): Generator<Span> {
  for (const pattern of looked) {
    for (const match of pattern.in(reading.text)) {
      const [start, end] = reading.span(match.index!, match.index! + match[0].length);
      yield { start, end, kind: 'instruction' };
    }
  }
}

/** Words spelt letter by letter: `i g n o r e`. */
function* spelt(reading: Reading): Generator<Span> {
  for (const match of reading.text.matchAll(/(?<![a-z])(?:[a-z][ .]){7,}[a-z](?![a-z])/g)) {
    const [hit] = SQUEEZED_PATTERN.in(match[0].replace(/[ .]/g, ''));
    if (!hit) continue;
    const [start, end] = reading.span(match.index, match.index + match[0].length);
    yield { start, end, kind: 'instruction' };
  }
}

function turned(reading: Reading): Reading {
  const text = reading.text.split('').reverse().join('');
  return {
    text,
    span: (start, end) => reading.span(text.length - end, text.length - start),
  };
}

function shifted(reading: Reading): Reading {
  const text = reading.text.replace(/[a-z]/g, (letter) =>
    String.fromCharCode(((letter.charCodeAt(0) - 97 + 13) % 26) + 97),
  );
  return { text, span: reading.span };
}

function merge(spans: Span[]): Span[] {
  const sorted = spans.toSorted((a, b) => a.start - b.start || b.end - a.end);
  const merged: Span[] = [];
  for (const span of sorted) {
    const last = merged.at(-1);
    if (!last || span.start >= last.end) merged.push(span);
    else if (span.end > last.end) merged[merged.length - 1] = { ...last, end: span.end };
  }
  return merged;
}
