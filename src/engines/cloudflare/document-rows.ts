import type { SqlStorage, SqlStorageValue } from '@cloudflare/workers-types';
import { toHex } from '../../base/ids.ts';
import { encodeUtf8, utf8Bytes } from '../../base/utf8.ts';
import type { Hit } from '../../kernel/search-index.ts';
import { FullText, splitLetters, type TextDatabase, type TextStatement } from '../full-text.ts';

/** Maximum size of a row in bytes. The platform allows 2 MB; the difference is a reserve. */
const ROW_BYTES = 1_900_000;

/** Full-text documents in one Durable Object. */
export class DocumentRows {
  readonly #texts: FullText;

  constructor(sql: SqlStorage) {
    sql.exec(`CREATE TABLE IF NOT EXISTS documents (
      id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, scope TEXT NOT NULL, fields TEXT NOT NULL, text TEXT NOT NULL
    )`);
    sql.exec(`CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (
      scope, text, content = 'documents', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2', prefix = '1'
    )`);
    this.#texts = new FullText(toTextDatabase(sql), (folder) => toHex(encodeUtf8(folder)));
  }

  /** Indexes a text. If the text is too long for a row, only its start is indexed. */
  put(key: string, text: string, fields: string): void {
    const words = splitLetters(text);
    this.#texts.put(key, truncateWords(words, ROW_BYTES - utf8Bytes(fields)), fields);
  }

  remove(keys: readonly string[]): void {
    for (const key of keys) this.#texts.remove(key);
  }

  search(scope: string, query: string, limit: number): Hit[] {
    return this.#texts.search(scope, query, limit);
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

function toTextDatabase(storage: SqlStorage): TextDatabase {
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
