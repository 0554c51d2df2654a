import { hash } from 'node:crypto';
import { tooLarge } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import { checkKey, checkLimit, checkScope, encodeJson } from '../../kernel/admission.ts';
import { queryTerms, rankPassages } from '../../kernel/passages.ts';
import type { Hit, SearchIndex } from '../../kernel/search-index.ts';
import { FullText, segmented } from '../full-text.ts';
import type { Store } from './store.ts';

export class SqliteSearchIndex implements SearchIndex {
  readonly #store: Store;
  readonly #texts: FullText;

  constructor(store: Store) {
    this.#store = store;
    this.#texts = new FullText(store.db, (folder) => hash('sha256', folder).slice(0, 32));
  }

  async put(key: string, text: string, fields: JsonObject): Promise<void> {
    checkKey('a key', key);
    const json = encodeJson('the fields of a document', fields, this.#store.limits.recordBytes);
    if (text.length > this.#store.limits.recordBytes) {
      throw tooLarge('the text of a document', this.#store.limits.recordBytes);
    }
    const words = segmented(text);
    await this.#store.queue.run(() => this.#texts.put(key, words, json), words.length);
  }

  async remove(key: string): Promise<void> {
    checkKey('a key', key);
    await this.#store.queue.free(() => this.#texts.remove(key));
  }

  async search(scope: string, query: string, o: { limit?: number } = {}): Promise<Hit[]> {
    checkScope('the scope of a search', scope);
    const limit = checkLimit(o.limit);
    const terms = queryTerms(query);
    const candidates = await this.#store.db.patiently(() => this.#texts.candidates(scope, terms, limit));
    return rankPassages(candidates, terms, limit);
  }
}
