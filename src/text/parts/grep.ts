import { type Env, systemEnv } from '../../base/env.ts';
import { GREP_MATCHES, GREP_TIME_MS, PART_CHARS } from '../../base/limits.ts';
import { pause } from '../../base/pause.ts';
import { badPart, type Part, quoteForError } from './part-request.ts';
import { CUT_MARK, type PartBody, PartText, plural, type TextLine, textLines } from './text-lines.ts';

interface Matcher {
  test(line: string): boolean;
}

/**
 * Compiles a pattern. Throws if it is invalid. A server passes a linear-time engine (`re2Matcher`); a client that
 * searches on its own machine may pass another.
 */
export type MatcherFactory = (pattern: string, o: { ignoreCase: boolean }) => Matcher;

/**
 * Number of characters at the end of a piece that are searched again with the next piece, to find matches that cross
 * the boundary.
 */
const OVERLAP_CHARS = 256;

/** Time in ms after which the search yields to the event loop, so that other requests do not wait noticeably. */
const TURN_MS = 20;

/**
 * Searches lines while they are read. Prints a matching line as `12:text`, a context line as `13-text`, and `--`
 * between separate blocks. Prints only the matching pieces of a very long line.
 */
export async function takeGrep(
  body: PartBody,
  request: { grep: string; context?: number; ignore_case?: boolean },
  matcherFor: MatcherFactory,
  clock: Pick<Env, 'now'> = systemEnv,
): Promise<Part> {
  const matcher = compile(request, matcherFor);
  const giveUpAt = clock.now() + GREP_TIME_MS;
  let turnEndsAt = clock.now() + TURN_MS;
  const output = new GrepOutput(request.context ?? 0);
  let before = '';
  let lines = 0;
  let stopped = '';
  reading: for await (const batch of textLines(body, 'lines to search')) {
    for (const line of batch) {
      lines = line.number;
      const matches = matcher.test(line.piece > 0 ? before + line.text : line.text);
      before = line.more ? line.text.slice(-OVERLAP_CHARS) : '';
      if (clock.now() >= turnEndsAt) {
        if (clock.now() >= giveUpAt) {
          const what = `the search was stopped after ${GREP_TIME_MS / 1000} s`;
          throw badPart(what, 'Use a simpler pattern, or pull the payload and search it yourself.');
        }
        await pause(0);
        turnEndsAt = clock.now() + TURN_MS;
      }
      if (matches && output.matches === GREP_MATCHES) {
        stopped = `the first ${GREP_MATCHES} matches; more follow after line ${output.lastLine}`;
        break reading;
      }
      if (!output.pass(line, matches)) {
        stopped = `${plural(output.matches, 'match', 'matches')} up to line ${output.lastLine}, cut at ${PART_CHARS} characters`;
        break reading;
      }
    }
  }
  const found = stopped || `${plural(output.matches, 'match', 'matches')} in ${plural(lines, 'line')}`;
  const about = output.cut ? `${found}; long lines are cut and marked${CUT_MARK}` : found;
  return { text: `${output.text}`, about, truncated: stopped !== '' || output.cut };
}

class GrepOutput {
  readonly #context: number;
  readonly text = new PartText();
  /** Latest lines, which become context if the next line matches. */
  #recent: TextLine[] = [];
  #after = 0;
  /** True if lines were skipped since the last printed line. */
  #gap = false;
  matches = 0;
  /** Number of the last printed line. */
  lastLine = 0;
  cut = false;

  constructor(context: number) {
    this.#context = context;
  }

  /** Processes a line. Returns false if the part is full. */
  pass(line: TextLine, matches: boolean): boolean {
    if (matches) {
      if (this.#context > 0 && this.#gap && this.lastLine > 0 && !this.text.add('--')) return false;
      for (const recent of this.#recent) if (!this.#show(recent, '-')) return false;
      if (!this.#show(line, ':')) return false;
      this.#recent = [];
      this.#gap = false;
      this.#after = this.#context;
      this.matches++;
      return true;
    }
    if (this.#after > 0) {
      this.#after--;
      return this.#show(line, '-');
    }
    this.#recent.push(line);
    if (this.#recent.length > this.#context) {
      this.#recent.shift();
      this.#gap = true;
    }
    return true;
  }

  #show(line: TextLine, sign: ':' | '-'): boolean {
    const text = (line.piece > 0 ? `${CUT_MARK.trim()} ` : '') + line.text + (line.more ? CUT_MARK : '');
    if (!this.text.add(`${line.number}${sign}${text}`)) return false;
    if (line.more || line.piece > 0) this.cut = true;
    this.lastLine = line.number;
    return true;
  }
}

function compile(request: { grep: string; ignore_case?: boolean }, matcherFor: MatcherFactory): Matcher {
  try {
    return matcherFor(request.grep, { ignoreCase: request.ignore_case ?? false });
  } catch {
    throw badPart(`"${quoteForError(request.grep)}" is not a supported regular expression`);
  }
}
