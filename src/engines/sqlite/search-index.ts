import { tooLarge } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import { INDEX_AT_ONCE_BYTES } from '../../base/limits.ts';
import { utf8Bytes } from '../../base/utf8.ts';
import type { Hit, SearchIndex } from '../../kernel/search-index.ts';
import { checkKey, checkLimit, checkScope, encodeJson } from '../../kernel/validate-input.ts';
import { sha256 } from '../body-hashes.ts';
import { FullText, splitLetters } from '../full-text.ts';
import type { IndexChange, IndexThread } from '../index-thread.ts';
import type { RowStore } from './commit-queue.ts';

/**
 * Factor by which an FTS5 insert is slower than a plain write of the same bytes. The commit queue counts each byte of a
 * text this many times, so that its batches stay short.
 */
const INDEXING_COST = 8;

/**
 * Full-text index in the store's own database. Worker threads, if there are any, run searches and index long texts on
 * their own connections. Short texts are indexed through the commit queue.
 */
export class SqliteSearchIndex implements SearchIndex {
  readonly #store: RowStore;
  readonly #texts: FullText;
  readonly #thread: IndexThread | null;
  readonly #rowBytes: number;

  /** `rowBytes` is the maximum size of a row. Of a longer text, only the start is indexed. */
  constructor(store: RowStore, o: { thread?: IndexThread; rowBytes?: number } = {}) {
    this.#store = store;
    this.#texts = new FullText(store.db, (folder) => sha256(folder).slice(0, 32));
    this.#thread = o.thread ?? null;
    this.#rowBytes = o.rowBytes ?? Number.POSITIVE_INFINITY;
  }

  async put(key: string, text: string, fields: JsonObject): Promise<void> {
    checkKey('a key', key);
    const json = encodeJson('the fields of a document', fields, this.#store.limits.recordBytes);
    if (text.length > this.#store.limits.recordBytes) {
      throw tooLarge('the text of a document', this.#store.limits.recordBytes);
    }
    if (this.#thread && text.length > INDEX_AT_ONCE_BYTES)
      return this.#thread.change([{ key, text, fields: json }]);
    const words = truncateWords(splitLetters(text), this.#rowBytes - utf8Bytes(json));
    await this.#store.queue.run(() => this.#texts.put(key, words, json), words.length * INDEXING_COST);
  }

  async remove(...keys: string[]): Promise<void> {
    for (const key of keys) checkKey('a key', key);
    if (keys.length > 1 && (await this.#removeInThread(keys))) return;
    for (const key of keys) await this.#store.queue.free(() => void this.#texts.remove(key));
  }

  /**
   * Removes keys in a worker thread. Returns false if there is no thread, or if it failed: on a full disk, only the
   * commit queue can use the reserve.
   */
  async #removeInThread(keys: readonly string[]): Promise<boolean> {
    if (!this.#thread) return false;
    const changes = keys.map((key): IndexChange => ({ key, text: null, fields: '' }));
    return this.#thread.change(changes).then(
      () => true,
      () => false,
    );
  }

  async search(scope: string, query: string, o: { limit?: number } = {}): Promise<Hit[]> {
    checkScope('the scope of a search', scope);
    const limit = checkLimit(o.limit);
    if (this.#thread) return this.#thread.search({ scope, query, limit });
    return this.#store.db.retryWhileBusy(() => this.#texts.search(scope, query, limit));
  }
}

/** Returns the start of a text, at most `bytes` bytes of UTF-8, cut at the end of a word. */
function truncateWords(words: string, bytes: number): string {
  // A UTF-16 code unit has at most three bytes in UTF-8.
  if (words.length * 3 <= bytes) return words;
  const { read } = new TextEncoder().encodeInto(words, new Uint8Array(Math.max(0, bytes)));
  if (read === words.length) return words;
  let end = read;
  while (end > 0 && !/[\s\u200b]/.test(words[end]!)) end--;
  return words.slice(0, end || read);
}
