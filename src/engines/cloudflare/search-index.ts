import { tooLarge } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import type { Hit, SearchIndex } from '../../kernel/search-index.ts';
import { checkKey, checkLimit, checkScope, encodeJson } from '../../kernel/validate-input.ts';
import { objectOf } from './objects.ts';
import type { Store } from './store.ts';

/** Full-text index in Durable Objects. */
export class CloudflareSearchIndex implements SearchIndex {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  async put(key: string, text: string, fields: JsonObject): Promise<void> {
    checkKey('a key', key);
    const { recordBytes } = this.#store.limits;
    const json = encodeJson('the fields of a document', fields, recordBytes);
    if (text.length > recordBytes) throw tooLarge('the text of a document', recordBytes);
    await this.#store.calls.ask(objectOf(key), 'putDocument', key, text, json);
  }

  async remove(...keys: string[]): Promise<void> {
    for (const key of keys) checkKey('a key', key);
    const byObject = Map.groupBy(keys, objectOf);
    await Promise.all(
      [...byObject].map(([object, some]) => this.#store.calls.ask(object, 'removeDocument', ...some)),
    );
  }

  async search(scope: string, query: string, o: { limit?: number } = {}): Promise<Hit[]> {
    checkScope('the scope of a search', scope);
    const limit = checkLimit(o.limit);
    return this.#store.object(scope).search(scope, query, limit);
  }
}
