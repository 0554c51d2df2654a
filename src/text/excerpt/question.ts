import { STOP_WORDS } from '../../base/stop-words.ts';
import { type Line, own } from './line-reader.ts';

const TERMS = 24;
const MATCHES = 400;

interface Match {
  readonly line: Line;
  readonly terms: readonly number[];
}

/** Finds the lines that contain the rarest words of a question. Words of scripts without spaces match by two letters. */
export class QuestionMatches {
  readonly #terms: readonly string[];
  readonly #counts: number[];
  #matches: Match[] = [];
  /** Lines with at most this score are not kept. */
  #least = 0;

  constructor(question: string) {
    const words =
      question
        .toLowerCase()
        .slice(0, 1000)
        .match(/[\p{L}\p{N}_]+/gu) ?? [];
    const terms = words
      .filter((word) => !STOP_WORDS.has(word))
      .flatMap((word) => {
        if (UNSPACED.test(word))
          return Array.from({ length: Math.max(1, word.length - 1) }, (_, i) => word.slice(i, i + 2));
        const stem = word.replace(/(?:ies|ied|ing|ed|es|s)$/, '');
        return [stem.length >= 3 ? stem : word];
      });
    this.#terms = [...new Set(terms)].slice(0, TERMS);
    this.#counts = this.#terms.map(() => 0);
  }

  add(line: Line): void {
    const text = line.text.toLowerCase();
    const terms: number[] = [];
    for (const [i, term] of this.#terms.entries()) if (text.includes(term)) terms.push(i);
    if (terms.length === 0) return;
    for (const i of terms) this.#counts[i]!++;
    if (this.#score(terms) <= this.#least) return;
    this.#matches.push({ line: own(line), terms });
    if (this.#matches.length < 2 * MATCHES) return;
    this.#matches = this.#best();
    this.#least = this.#score(this.#matches.at(-1)!.terms);
  }

  /** Calls `found` with the best lines and their score from 0 to 1. */
  best(found: (line: Line, score: number) => void): void {
    const best = this.#best();
    const most = best[0] ? this.#score(best[0].terms) : 1;
    for (const { line, terms } of best) found(line, this.#score(terms) / most);
  }

  #best(): Match[] {
    const sorted = this.#matches.toSorted(
      (a, b) => this.#score(b.terms) - this.#score(a.terms) || a.line.number - b.line.number,
    );
    return sorted.slice(0, MATCHES);
  }

  #score(terms: readonly number[]): number {
    return terms.reduce((sum, i) => sum + 1 / Math.log2(1 + this.#counts[i]!), 0);
  }
}

const UNSPACED = /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Hang}]/u;
