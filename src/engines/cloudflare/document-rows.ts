import type { SqlStorage, SqlStorageValue } from '@cloudflare/workers-types';
import { toHex } from '../../base/ids.ts';
import { encodeUtf8, utf8Bytes } from '../../base/utf8.ts';
import type { Hit } from '../../kernel/search-index.ts';
import { FullText, splitLetters, type TextDatabase, type TextStatement } from '../full-text.ts';

/** A row takes 2 MB. A letter of Chinese takes nine bytes, with the seams around it. */
const ROW_BYTES = 1_900_000;

/** Texts to search in, as rows of one object. */
export class DocumentRows {
  readonly #texts: FullText;

  constructor(sql: SqlStorage) {
    sql.exec(`CREATE TABLE IF NOT EXISTS documents (
      id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, scope TEXT NOT NULL, fields TEXT NOT NULL, text TEXT NOT NULL
    )`);
    sql.exec(`CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (
      scope, text, content = 'documents', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2', prefix = '1'
    )`);
    this.#texts = new FullText(databaseOf(sql), (folder) => toHex(encodeUtf8(folder)));
  }

  /** A long text is found by its beginning: as much of it as a row takes. */
  put(key: string, text: string, fields: string): void {
    const words = splitLetters(text);
    this.#texts.put(key, beginningOf(words, ROW_BYTES - utf8Bytes(fields)), fields);
  }

  remove(keys: readonly string[]): void {
    for (const key of keys) this.#texts.remove(key);
  }

  search(scope: string, query: string, limit: number): Hit[] {
    return this.#texts.search(scope, query, limit);
  }
}

/** Whole words, of so many bytes in UTF-8 together. */
function beginningOf(words: string, bytes: number): string {
  // No letter takes more than three for each of its units.
  if (words.length * 3 <= bytes) return words;
  const { read } = new TextEncoder().encodeInto(words, new Uint8Array(Math.max(0, bytes)));
  if (read === words.length) return words;
  let end = read;
  while (end > 0 && !/[\s\u200b]/.test(words[end]!)) end--;
  return words.slice(0, end || read);
}

function databaseOf(storage: SqlStorage): TextDatabase {
  return {
    sql: <Row>(text: string): TextStatement<Row> => {
      const run = (values: readonly unknown[]) =>
        storage.exec(text, ...(values as SqlStorageValue[])) as unknown as Iterable<Row>;
      return {
        get: (...values) => [...run(values)][0],
        iterate: (...values) => run(values)[Symbol.iterator]() as IterableIterator<Row>,
        run(...values) {
          run(values);
          const sql = 'SELECT last_insert_rowid() AS id';
          return { lastInsertRowid: storage.exec<{ id: number }>(sql).one().id };
        },
      };
    },
  };
}
