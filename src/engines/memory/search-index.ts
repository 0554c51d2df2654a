import type { JsonObject } from '../../base/json.ts';
import { checkKey, checkLimit, checkScope } from '../../kernel/admission.ts';
import { queryTerms, rankPassages } from '../../kernel/passages.ts';
import type { Hit, SearchIndex } from '../../kernel/search-index.ts';
import type { Hazard } from './hazard.ts';

export class MemorySearchIndex implements SearchIndex {
  readonly #rows = new Map<string, { readonly text: string; readonly fields: string }>();
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

  async remove(...keys: string[]): Promise<void> {
    for (const key of keys) checkKey('a key', key);
    await this.#hazard.pause();
    for (const key of keys) this.#rows.delete(key);
  }

  async search(scope: string, query: string, o: { limit?: number } = {}): Promise<Hit[]> {
    checkScope('the scope of a search', scope);
    const limit = checkLimit(o.limit);
    await this.#hazard.pause();
    const within = [...this.#rows].filter(([key]) => key.startsWith(scope));
    const candidates = within.map(([key, { text, fields }]) => ({ key, text, fields: JSON.parse(fields) }));
    return rankPassages(candidates, queryTerms(query), limit);
  }
}
