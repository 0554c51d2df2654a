import { STOP_WORDS } from '../../base/stop-words.ts';
import { type Line, own } from './line-reader.ts';

const TERMS = 24;
const MATCHES = 400;
/** Number of lines around a match that are shown, because they often contain the answer. */
const BEFORE = 3;
const AFTER = 6;

/** Words that occur in questions but rarely near the answer. */
const ASKING = /^(?:first|last|latest|newest|oldest|final|line|file|name|happen|come|long|large|size)$/;

interface Match {
  readonly line: Line;
  readonly terms: readonly number[];
  readonly before: readonly Line[];
  readonly after: Line[];
}

/**
 * Finds the lines that contain the rarest words of a question. In scripts without spaces, two letters count as a
 * word.
 */
export class QuestionMatches {
  readonly #terms: readonly (string | RegExp)[];
  readonly #counts: number[];
  /** True if the question asks for the last of several similar lines. */
  readonly #wantsLast: boolean;
  #matches: Match[] = [];
  /**
   * Matched terms of the worst stored match. A new match must be better, or as good if the question asks for
   * the last line.
   */
  #least: readonly number[] = [];
  #before: Line[] = [];
  #open: Match[] = [];

  constructor(question: string) {
    const words =
      question
        .toLowerCase()
        .slice(0, 1000)
        .match(/[\p{L}\p{N}_]+/gu) ?? [];
    this.#wantsLast = words.some((word) => /^(?:last|latest|newest|final)$/.test(word));
    const terms = words
      .filter((word) => !STOP_WORDS.has(word))
      .flatMap((word) => {
        if (!UNSPACED.test(word)) return [stemOf(word)];
        return Array.from({ length: Math.max(1, word.length - 1) }, (_, i) => word.slice(i, i + 2));
      });
    const telling = terms.filter((term) => !ASKING.test(term));
    // Find a number only where it is not part of a longer number.
    this.#terms = [...new Set(telling.length > 0 ? telling : terms)]
      .slice(0, TERMS)
      .map((term) => (/^\d+$/.test(term) ? new RegExp(`(?<!\\d)${term}(?!\\d)`) : term));
    this.#counts = this.#terms.map(() => 0);
  }

  add(line: Line): void {
    if (this.#open.length > 0) {
      for (const { after } of this.#open) after.push(own(line));
      this.#open = this.#open.filter(({ after }) => after.length < AFTER);
    }
    const text = line.text.toLowerCase();
    const terms: number[] = [];
    for (const [i, term] of this.#terms.entries())
      if (typeof term === 'string' ? text.includes(term) : term.test(text)) terms.push(i);
    for (const i of terms) this.#counts[i]!++;
    const above = this.#score(terms) - this.#score(this.#least);
    if (above > 0 || (above === 0 && this.#wantsLast && terms.length > 0)) {
      const match = { line: own(line), terms, before: this.#before.map(own), after: [] };
      this.#matches.push(match);
      this.#open.push(match);
      if (this.#matches.length >= 2 * MATCHES) {
        this.#matches = this.#best();
        this.#least = this.#matches.at(-1)!.terms;
      }
    }
    this.#before = [...this.#before.slice(1 - BEFORE), line];
  }

  /** Calls `found` for each of the best lines, with the score of the line from 0 to 1 and the lines around it. */
  best(found: (line: Line, score: number, around: readonly Line[]) => void): void {
    const best = this.#best();
    const most = best[0] ? this.#score(best[0].terms) : 1;
    for (const { line, terms, before, after } of best)
      found(line, this.#score(terms) / most, [...before, line, ...after]);
  }

  #best(): Match[] {
    const order = this.#wantsLast ? -1 : 1;
    const sorted = this.#matches.toSorted(
      (a, b) => this.#score(b.terms) - this.#score(a.terms) || order * (a.line.number - b.line.number),
    );
    return sorted.slice(0, MATCHES);
  }

  #score(terms: readonly number[]): number {
    return terms.reduce((sum, i) => sum + 1 / Math.log2(1 + this.#counts[i]!), 0);
  }
}

/**
 * Removes a common English ending, so that other forms of the word match: "skipped" and "skip", "files" and "file".
 */
function stemOf(word: string): string {
  const stem = word.replace(/(?<=s|x|z|ch|sh)es$|ies$|ied$|ing$|ed$|s$/, '').replace(/([bdgmnprt])\1$/, '$1');
  return stem.length >= 3 ? stem : word;
}

const UNSPACED = /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Hang}]/u;
