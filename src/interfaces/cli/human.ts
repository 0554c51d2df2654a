import type { RelayError } from '../../base/errors.ts';
import { plural } from '../../base/format.ts';
import type { Json } from '../../base/json.ts';
import type { TokenCount } from '../../base/tokens.ts';
import { badUsage } from './command.ts';
import type { Io } from './io.ts';

export { bytes, count, plural } from '../../base/format.ts';

// Formats and parses numbers and times for people, without Intl: loading it takes longer than a fast command.

/** Formats a token count: `about 1,200 tokens (o200k_base)`. */
export function tokensInWords({ tokens, tokenizer, estimated }: TokenCount): string {
  return `${estimated ? 'about ' : ''}${plural(tokens, 'token')} (${tokenizer})`;
}

const SPANS: readonly (readonly [name: string, ms: number])[] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
];

/**
 * Formats a duration with at most two units: `24 hours`, `1 hour 30 minutes`, `7 days`. Below two days it
 * uses hours.
 */
export function span(ms: number): string {
  let left = Math.max(0, Math.round(ms / 1000)) * 1000;
  const parts: string[] = [];
  for (const [name, length] of SPANS) {
    if (name === 'day' && left < 2 * length) continue;
    const n = Math.floor(left / length);
    if (parts.length === 2 || (parts.length === 1 && n === 0)) break;
    if (n > 0) parts.push(plural(n, name));
    left -= n * length;
  }
  return parts.join(' ') || '0 seconds';
}

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Formats a time in the local time zone: `today at 14:02`, `tomorrow at 09:30`, `Thu 12 Nov at 09:30`. */
export function moment(when: number | string, now = Date.now()): string {
  const date = new Date(when);
  const at = date.getTime();
  const time = `${String(date.getHours()).padStart(2, '0')}:${String(date.getMinutes()).padStart(2, '0')}`;
  const days = Math.round((midnight(at) - midnight(now)) / 86_400_000);
  if (days === 0) return `today at ${time}`;
  if (days === 1) return `tomorrow at ${time}`;
  if (days === -1) return `yesterday at ${time}`;
  const year = date.getFullYear() === new Date(now).getFullYear() ? '' : ` ${date.getFullYear()}`;
  return `${DAYS[date.getDay()]} ${date.getDate()} ${MONTHS[date.getMonth()]}${year} at ${time}`;
}

/** At a terminal, formats a time for people. In a pipe, returns it in ISO 8601. */
export function when({ interactive }: Pick<Io, 'interactive'>, iso: string): string {
  return interactive ? moment(iso) : iso;
}

/** At a terminal, escapes control characters in a text from others. In a pipe, returns the text unchanged. */
export function passedOn({ interactive }: Pick<Io, 'interactive'>, text: string): string {
  return interactive ? printable(text) : text;
}

function midnight(at: number): number {
  return new Date(at).setHours(0, 0, 0, 0);
}

/** Formats an expiry time: `in 24 hours, tomorrow at 14:02`. */
export function expiry(iso: string, now = Date.now()): string {
  return `${timeLeft(iso, now)}, ${moment(iso, now)}`;
}

/** Formats the time until an expiry: `in 24 hours`. */
export function timeLeft(iso: string, now = Date.now()): string {
  const left = Date.parse(iso) - now;
  // Round the duration, so that a new pointer shows "24 hours" and not "23 hours 59 minutes".
  const grain = left > 3_600_000 ? 60_000 : 1000;
  return `in ${span(Math.round(left / grain) * grain)}`;
}

const SECONDS: { readonly [unit: string]: number } = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

/**
 * Parses a duration and returns seconds. Accepts `90s`, `15m`, `2h`, `7d`, `1w`, `1h30m` or a number of
 * seconds. Returns undefined if the flag is missing.
 */
export function parseSpan(text: string | undefined, flag: string): number | undefined {
  if (text === undefined) return undefined;
  const plain = text.trim().toLowerCase();
  if (/^\d+(\.\d+)?$/.test(plain)) return Number(plain);
  if (/^(\d+(\.\d+)?[smhdw])+$/.test(plain)) {
    const parts = [...plain.matchAll(/(\d+(?:\.\d+)?)([smhdw])/g)];
    return parts.reduce((sum, [, n, unit]) => sum + Number(n) * SECONDS[unit!]!, 0);
  }
  throw badUsage(`${flag} "${text}" is not a valid time.`, 'Use 90s, 15m, 2h, 7d or a number of seconds.');
}

/** Like `parseSpan`, but returns milliseconds. */
export function parseMilliseconds(text: string | undefined, flag: string): number | undefined {
  const seconds = parseSpan(text, flag);
  return seconds === undefined ? undefined : seconds * 1000;
}

/** Parses a whole number between `min` and `max`. Returns undefined if the flag is missing. */
export function parseCount(
  text: string | undefined,
  flag: string,
  { min = 0, max = Number.MAX_SAFE_INTEGER }: { readonly min?: number; readonly max?: number } = {},
): number | undefined {
  if (text === undefined) return undefined;
  const n = Number(text);
  if (/^\d+$/.test(text) && n >= min && n <= max) return n;
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  throw badUsage(`${flag} needs a whole number, not "${text}".`, `Use a number ${range}.`);
}

/** Returns the --count and --all flags of a list command. `standard` is the default number of items. */
export const listFlags = (standard: number) =>
  ({
    count: { short: 'n', value: 'N', help: `show at most N (${standard})` },
    all: { help: 'show all' },
  }) as const;

/** Returns the maximum number of items to show: the value of `--count`, or infinity with `--all`. */
export function parseMost(flags: { count?: string; all?: boolean }, standard: number): number {
  if (flags.all) return Number.POSITIVE_INFINITY;
  return parseCount(flags.count, '--count', { min: 1 }) ?? standard;
}

/**
 * Returns the value of a flag if it is one of `allowed`, and undefined if the flag is missing. Otherwise
 * throws.
 */
export function oneOf<const T extends string>(
  flag: string,
  value: string | undefined,
  allowed: readonly T[],
): T | undefined {
  if (value === undefined || allowed.includes(value as T)) return value as T | undefined;
  throw badUsage(`${flag} does not accept "${value}".`, `Use one of: ${allowed.join(', ')}.`);
}

/** Parses JSON that the user typed. `wrong` creates the error for invalid JSON. */
export function typedJson(text: string, wrong: (reason: string) => RelayError): Json {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw wrong((error as Error).message);
  }
}

/**
 * Escapes control characters, and characters that change the text direction, so that a text from others
 * cannot control the terminal.
 */
export function printable(text: string): string {
  return text.replace(
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Puts a text on one line and escapes its control characters. */
export function printableLine(text: string): string {
  return printable(text).replace(/\s+/g, ' ').trim();
}

/** Like `printableLine`, but returns at most `most` characters. */
export function shortLine(text: string, most: number): string {
  const line = printableLine(text);
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

/** In a pipe, returns only the value. At a terminal, adds the label and, on the next line, the facts. */
export function labelled(
  { interactive, style }: Pick<Io, 'interactive' | 'style'>,
  label: string,
  value: string,
  facts: readonly string[] = [],
): string {
  if (!interactive) return value;
  const visible = facts.filter((fact) => fact !== '');
  const below = visible.length === 0 ? '' : `\n${style.dim(visible.join(' · '))}`;
  return `${style.dim(label)}  ${value}${below}`;
}

export const unpainted = (label: string): string => label;

/** Aligns cells in columns, two spaces apart. The columns in `right` are right-aligned. */
export function columns(cells: readonly (readonly string[])[], right: readonly number[] = []): string[] {
  const width = (at: number) => Math.max(...cells.map((row) => row[at]!.length));
  const widths = cells[0]?.map((_, at) => width(at)) ?? [];
  const cell = (text: string, at: number) =>
    right.includes(at) ? text.padStart(widths[at]!) : text.padEnd(widths[at]!);
  return cells.map((row) => row.map(cell).join('  '));
}

/** Row of a table. A row with the value null is not printed. */
export type Row = readonly [label: string, value: string | null];

/** Formats rows of labels and values in two aligned columns. `paint` colors the labels. */
export function rows(paint: (label: string) => string, entries: readonly Row[]): string {
  const visible = entries.filter(([, value]) => value !== null);
  const width = Math.max(...visible.map(([label]) => label.length)) + 2;
  return visible.map(([label, value]) => `${paint(label.padEnd(width))}${value}`).join('\n');
}

/**
 * Formats a name and its description, which starts at column `indent` and is wrapped to the width of the
 * terminal.
 */
export function describedName(
  paint: (name: string) => string,
  name: string,
  about: string,
  { indent, width }: { readonly indent: number; readonly width: number },
): string {
  const lines = folded(about, Math.max(30, width - indent));
  return `  ${paint(name.padEnd(indent - 2))}${lines.join(`\n${' '.repeat(indent)}`)}`;
}

/** Wraps a paragraph to lines of at most `width` characters. A longer word gets its own line. */
export function folded(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
