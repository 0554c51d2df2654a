import type { JsonObject } from '../../base/json.ts';
import { checkKey, checkLimit, checkScope } from '../../kernel/admission.ts';
import type { Hit, SearchIndex } from '../../kernel/search-index.ts';
import type { Hazard } from './hazard.ts';

/** Words in a snippet. */
const SNIPPET_WORDS = 24;

/** Scripts without spaces are taken letter by letter, everything else word by word. */
const WORD =
  /[[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Hang}]&&\p{L}]|[[\p{L}\p{N}\p{M}]--[[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Hang}]&&\p{L}]]+/gv;

interface Row {
  readonly text: string;
  readonly fields: string;
}

interface Word {
  readonly folded: string;
  readonly start: number;
  readonly end: number;
}

/** Words that must follow one another. */
type Phrase = readonly string[];

export class MemorySearchIndex implements SearchIndex {
  readonly #rows = new Map<string, Row>();
  readonly #hazard: Hazard;

  constructor(hazard: Hazard) {
    this.#hazard = hazard;
  }

  async put(key: string, text: string, fields: JsonObject): Promise<void> {
    checkKey('a key', key);
    const row = { text: text.toWellFormed().replace(/[\u0002\u0003]/g, ''), fields: JSON.stringify(fields) };
    await this.#hazard.pause();
    this.#rows.set(key, row);
  }

  async remove(key: string): Promise<void> {
    checkKey('a key', key);
    await this.#hazard.pause();
    this.#rows.delete(key);
  }

  async search(scope: string, query: string, o: { limit?: number } = {}): Promise<Hit[]> {
    checkScope('the scope of a search', scope);
    const limit = checkLimit(o.limit);
    const phrases = phrasesOf(query);
    await this.#hazard.pause();
    const hits: Hit[] = [];
    for (const [key, row] of phrases.length > 0 ? this.#rows : []) {
      if (!key.startsWith(scope)) continue;
      const words = wordsOf(row.text);
      const found = phrases.map((phrase, i) => places(words, phrase, i === phrases.length - 1));
      if (found.some((at) => at.length === 0)) continue;
      const matched = new Set(found.flatMap((at, i) => at.flatMap((p) => phrases[i]!.map((_, k) => p + k))));
      const score = matched.size / Math.sqrt(words.length);
      hits.push({ key, score, snippet: snippet(row.text, words, matched), fields: JSON.parse(row.fields) });
    }
    return hits.sort((a, b) => b.score - a.score).slice(0, limit);
  }
}

function wordsOf(text: string): Word[] {
  return Array.from(text.matchAll(WORD), (m) => ({
    folded: fold(m[0]),
    start: m.index,
    end: m.index + m[0].length,
  }));
}

/** Each word is a phrase of its own, but letters that touch belong together. */
function phrasesOf(query: string): Phrase[] {
  const phrases: string[][] = [];
  let end = -1;
  for (const word of wordsOf(query)) {
    if (word.start === end) phrases.at(-1)!.push(word.folded);
    else phrases.push([word.folded]);
    end = word.end;
  }
  return phrases;
}

function fold(word: string): string {
  return word.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
}

function places(words: readonly Word[], phrase: Phrase, prefix: boolean): number[] {
  const found: number[] = [];
  for (let i = 0; i + phrase.length <= words.length; i++) {
    const fits = phrase.every((term, k) => {
      const word = words[i + k]!.folded;
      return prefix && k === phrase.length - 1 ? word.startsWith(term) : word === term;
    });
    if (fits) found.push(i);
  }
  return found;
}

/** The passage that begins just before the first match. */
function snippet(text: string, words: readonly Word[], matched: ReadonlySet<number>): string {
  const first = Math.max(0, Math.min(Math.min(...matched) - 2, words.length - SNIPPET_WORDS));
  let result = first > 0 ? '…' : '';
  let from = words[first]!.start;
  const stretch = words.slice(first, first + SNIPPET_WORDS);
  for (const [i, word] of stretch.entries()) {
    const inside = text.slice(word.start, word.end);
    result += text.slice(from, word.start) + (matched.has(first + i) ? `\u0002${inside}\u0003` : inside);
    from = word.end;
  }
  return first + SNIPPET_WORDS < words.length ? `${result}…` : result;
}
