import type { SqlStorage, SqlStorageValue } from '@cloudflare/workers-types';
import { toHex } from '../../base/ids.ts';
import { encodeUtf8 } from '../../base/utf8.ts';
import { queryTerms, rankPassages } from '../../kernel/passages.ts';
import type { Hit } from '../../kernel/search-index.ts';
import { FullText, segmented, type TextDatabase, type TextStatement } from '../full-text.ts';

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

  put(key: string, text: string, fields: string): void {
    this.#texts.put(key, segmented(text), fields);
  }

  remove(key: string): void {
    this.#texts.remove(key);
  }

  search(scope: string, query: string, limit: number): Hit[] {
    const terms = queryTerms(query);
    return rankPassages(this.#texts.candidates(scope, terms, limit), terms, limit);
  }
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
