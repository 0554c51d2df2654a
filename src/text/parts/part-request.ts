import { RelayError } from '../../base/errors.ts';
import { parsePath } from '../../base/json.ts';
import { GREP_CONTEXT_LINES, GREP_PATTERN_CHARS, PART_QUESTION_CHARS } from '../../base/limits.ts';
import type { TokenCount, TokenCounter } from '../../base/tokens.ts';

/** Request for a part of a text payload, in one of five forms. */
export type PartRequest =
  /** Line range: `10-40`, `10-` to the end, `-20` for the last twenty, or `7`. The first line is 1. */
  | { readonly lines: string }
  | { readonly grep: string; readonly context?: number; readonly ignore_case?: boolean }
  /** JSON Pointer (RFC 6901) such as `/users/0/name`. An empty pointer is the whole document. */
  | { readonly json: string }
  | { readonly outline: true }
  /** The lines that most likely answer a question, as an excerpt with line numbers. */
  | { readonly question: string };

/** A part of a text. */
export interface Part {
  readonly text: string;
  /** Description of the part, such as `lines 10-40 of 1200`. */
  readonly about: string;
  /** True if a limit cut the part. `about` says which limit. */
  readonly truncated: boolean;
}

/** Returns whether reading a part counts as a pull. An outline, or a search without a match, does not. */
export function usesPull(request: PartRequest, { text }: Part): boolean {
  return !('outline' in request) && !('grep' in request && text === '');
}

/** A part request as query parameters or flags, where every value is a string. */
type PartParameters = {
  readonly [name in 'lines' | 'grep' | 'context' | 'ignore_case' | 'json' | 'outline' | 'question']?:
    | string
    | null;
};

/** Parses a part request from parameters. Returns null if there is none. */
export function parsePartRequest(from: PartParameters): PartRequest | null {
  const requests = [];
  if (from.lines != null) requests.push({ lines: from.lines });
  if (from.grep != null) requests.push({ grep: from.grep, ...grepOptions(from) });
  if (from.json != null) requests.push({ json: from.json });
  if (parseFlag(from.outline, 'outline')) requests.push({ outline: true as const });
  if (from.question != null) requests.push({ question: from.question });
  if (requests.length > 1) {
    throw badPart(`${requests.map((one) => Object.keys(one)[0]).join(' and ')} were requested together`);
  }
  const only = requests[0];
  if (only && 'grep' in only) return checkPartRequest(only);
  if (from.context != null) throw badPart('context needs grep');
  if (parseFlag(from.ignore_case, 'ignore_case')) throw badPart('ignore_case needs grep');
  return only ? checkPartRequest(only) : null;
}

/**
 * Parses a part request that a model wrote: `lines=10-40`, `grep=PATTERN`, `json=/a/b`, `question=WORDS` or
 * `outline`. Returns null for `all`.
 */
export function parsePartText(text: string): PartRequest | null {
  const [, name, value] = /^\s*(all|outline|lines|grep|json|question)(?:=(.*))?$/s.exec(text) ?? [];
  if (name === 'all') return null;
  if (name === 'outline') return { outline: true };
  // An empty JSON Pointer is the whole document. All other values must not be empty.
  if (name && (value || (name === 'json' && value === ''))) return { [name]: value } as PartRequest;
  throw badPart(`"${text.slice(0, 80)}" is not a known part`);
}

/** Returns a valid request unchanged. Throws `bad_part` for an invalid one, before any payload is read. */
export function checkPartRequest(part: PartRequest): PartRequest {
  const names = ['lines', 'grep', 'json', 'outline', 'question'].filter((name) => Object.hasOwn(part, name));
  if (names.length !== 1)
    throw badPart(names.length ? `${names.join(' and ')} were requested together` : 'no part is named');
  if ('lines' in part) parseLineRange(part.lines);
  else if ('json' in part) parseJsonPointer(part.json);
  else if ('grep' in part) checkGrep(part);
  else if ('question' in part) checkText('question', 'text', part.question, PART_QUESTION_CHARS);
  else if (part.outline !== true) throw badPart('outline must be true');
  return part;
}

type LineRange = { readonly from: number; readonly to: number } | { readonly last: number };

/** Parses a line range. Throws `bad_part` if it is invalid. */
export function parseLineRange(text: unknown): LineRange {
  const match = typeof text === 'string' && /^\s*(\d{1,12})?\s*(?:(-)\s*(\d{1,12})?)?\s*$/.exec(text);
  if (!match || (!match[1] && !match[3])) {
    throw badPart(`lines=${quoteForError(text)} is not a range such as 10-40, 10-, -20 or 7`);
  }
  const [, first, dash, second] = match;
  if (!first) {
    if (Number(second) === 0) throw badPart('lines=-0 selects no lines');
    return { last: Number(second) };
  }
  const from = Number(first);
  const to = !dash ? from : second ? Number(second) : Number.POSITIVE_INFINITY;
  if (from === 0) throw badPart('lines start at 1, not at 0');
  if (to < from) throw badPart(`lines=${quoteForError(text)} ends before it begins`);
  return { from, to };
}

/** Returns the unescaped segments of a JSON Pointer (RFC 6901). */
export function parseJsonPointer(pointer: unknown): string[] {
  if (typeof pointer !== 'string') throw badPart('json must be a JSON Pointer such as /users/0/name');
  const segments = parsePath(pointer);
  if (segments) return segments;
  if (!pointer.startsWith('/')) throw badPart(`json=${quoteForError(pointer)} does not begin with /`);
  const bad = pointer.split('/').find((segment) => /~(?![01])/.test(segment));
  throw badPart(`"${quoteForError(bad)}" has a ~ that is neither ~0 nor ~1`);
}

/** Returns the error for an invalid part request. */
export function badPart(what: string, hint?: string): RelayError {
  return new RelayError('bad_part', { what, hint });
}

/** Shortens a value from the caller and removes control characters, so that an error message can quote it. */
export function quoteForError(value: unknown): string {
  const text = String(value).replace(/\p{Cc}/gu, ' ');
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

function checkGrep(part: { grep: unknown; context?: unknown; ignore_case?: unknown }): void {
  checkText('grep', 'pattern', part.grep, GREP_PATTERN_CHARS);
  const context = part.context ?? 0;
  if (!Number.isInteger(context) || (context as number) < 0 || (context as number) > GREP_CONTEXT_LINES) {
    throw badPart(`context=${quoteForError(context)} is not a number from 0 to ${GREP_CONTEXT_LINES}`);
  }
  if (part.ignore_case !== undefined && typeof part.ignore_case !== 'boolean') {
    throw badPart('ignore_case must be true or false');
  }
}

function checkText(name: string, what: string, value: unknown, most: number): void {
  if (typeof value !== 'string' || value === '') throw badPart(`${name} needs a ${what}`);
  if (value.length > most) throw badPart(`the ${what} is longer than ${most} characters`);
}

function grepOptions(from: PartParameters): { context?: number; ignore_case?: boolean } {
  const context = from.context == null ? undefined : Number(from.context.trim() || Number.NaN);
  if (context !== undefined && !Number.isInteger(context)) {
    throw badPart(`context=${quoteForError(from.context)} is not a number from 0 to ${GREP_CONTEXT_LINES}`);
  }
  return {
    ...(context === undefined ? {} : { context }),
    ...(parseFlag(from.ignore_case, 'ignore_case') ? { ignore_case: true } : {}),
  };
}

function parseFlag(value: string | null | undefined, name: string): boolean {
  if (value == null || value === '0' || value === 'false') return false;
  if (value === '' || value === '1' || value === 'true') return true;
  throw badPart(`${name} must be 1 or 0, not ${quoteForError(value)}`);
}

/** A part with its token count. */
export interface CountedPart extends Part {
  /** Token count of `text`. */
  readonly tokens: TokenCount;
}

/**
 * Cuts a part to at most `budget` tokens, at the end of a line if one is near. `about` then says that the part was
 * cut and how to continue.
 */
export async function cutToBudget(part: Part, budget: number, counter: TokenCounter): Promise<CountedPart> {
  let { text } = part;
  let tokens = await counter.count(text);
  if (tokens.tokens <= budget) return { ...part, tokens };
  while (tokens.tokens > budget) {
    // Tokens are not spread evenly over the text, so one cut may not be enough.
    const chars = Math.floor((text.length * budget) / tokens.tokens);
    const line = text.lastIndexOf('\n', chars);
    text = text.slice(0, line > chars / 2 ? line : chars).replace(/[\ud800-\udbff]$/, '');
    tokens = await counter.count(text);
  }
  const from = /^lines (\d+)/.exec(part.about)?.[1];
  const next = from
    ? `continue with lines=${Number(from) + text.split('\n').length}-`
    : 'request a smaller part';
  // Remove the note of an earlier cut: the text now ends at an earlier line than that note says.
  const about = part.about.replace(/; cut at \d+ characters; continue with lines=\d+-/, '');
  return { text, about: `${about}; cut at ${budget} tokens; ${next}`, truncated: true, tokens };
}
