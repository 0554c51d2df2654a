import { type Candidate, queryTerms, rankPassages, type Term, unspaced } from '../kernel/passages.ts';
import type { Hit } from '../kernel/search-index.ts';
import { prefixUpperBound } from '../kernel/validate-input.ts';

/**
 * Maximum number of matching texts that are ranked. Of more matches, only the newest texts are ranked. A word with
 * more matches is expensive and hardly selective, so it is ignored if the query has a rarer word that matches.
 */
const RANKED_TEXTS = 1000;

/** Number of folder levels that are indexed as words. A search in a deeper folder compares the keys one by one. */
const FOLDER_DEPTH = 8;

/** A search compares the passages of at least this many texts. */
const CANDIDATES = 50;
/** Number of characters after which a search reads no further text. */
const READ_CHARS = 2 * 1024 * 1024;

/** Zero-width space, a word boundary for FTS5. `joinLetters` removes it. */
const SEPARATOR = '\u200b';

type Value = string | number | bigint | Uint8Array | null;

/** The methods of a SQLite connection that `FullText` needs. */
export interface TextDatabase {
  sql<Row>(text: string): TextStatement<Row>;
}

export interface TextStatement<Row> {
  get(...values: Value[]): Row | undefined;
  iterate(...values: Value[]): IterableIterator<Row>;
  run(...values: Value[]): { readonly lastInsertRowid: number | bigint };
}

/**
 * Full-text search with FTS5, for all engines with SQLite. Case and diacritics are ignored. In scripts without spaces
 * FTS5 would treat a whole sentence as one word, so each letter is indexed as a word. Each folder of a key is also
 * indexed as a word, so that a search in a folder reads only its documents.
 */
export class FullText {
  readonly #db: TextDatabase;
  readonly #folderWord: (folder: string) => string;

  /** `folderWord` converts a folder name to a unique word of letters and digits. */
  constructor(db: TextDatabase, folderWord: (folder: string) => string) {
    this.#db = db;
    this.#folderWord = folderWord;
  }

  /** Adds a document. Must run inside a transaction. `words` is the result of `splitLetters`; `fields` is JSON. */
  put(key: string, text: string, fields: string): void {
    this.remove(key);
    const scope = folders(key)
      .map((folder) => this.#folderWord(folder))
      .join(' ');
    const sql = 'INSERT INTO documents (key, scope, fields, text) VALUES (?, ?, ?, ?)';
    const { lastInsertRowid } = this.#db.sql(sql).run(key, scope, fields, text);
    this.#db.sql('INSERT INTO words (rowid, scope, text) VALUES (?, ?, ?)').run(lastInsertRowid, scope, text);
  }

  /** Removes a document from the index. Must run inside a transaction. */
  remove(key: string): void {
    const find = 'SELECT id, scope, text FROM documents WHERE key = ?';
    const row = this.#db.sql<{ id: number; scope: string; text: string }>(find).get(key);
    if (!row) return;
    const sql = "INSERT INTO words (words, rowid, scope, text) VALUES ('delete', ?, ?, ?)";
    this.#db.sql(sql).run(row.id, row.scope, row.text);
    this.#db.sql('DELETE FROM documents WHERE id = ?').run(row.id);
  }

  /**
   * Searches with limited work: at most 64 terms, the 1000 newest matches, and about 2 MiB of text for the passages.
   */
  search(scope: string, query: string, limit: number): Hit[] {
    const terms = queryTerms(query);
    return rankPassages(this.#candidates(scope, terms, limit), terms, limit);
  }

  /** Returns the texts that may contain the best passages. */
  #candidates(scope: string, terms: readonly Term[], limit: number): Candidate[] {
    const folder = folders(scope).at(-1)!;
    const inFolder = (match: string) => `scope:"${this.#folderWord(folder)}" AND text:(${match})`;
    const counted = terms.map((term) => {
      const match = ftsPattern(term);
      return { match, count: this.#count(inFolder(match)) };
    });
    const matching = counted.filter(({ count }) => count > 0);
    const selective = matching.filter(({ count }) => count <= RANKED_TEXTS);
    if (matching.length === 0) return [];
    const match = (selective.length > 0 ? selective : matching).map((each) => each.match).join(' OR ');
    // If the scope is a whole indexed folder, the index selects the keys. Otherwise compare the keys.
    const [join, range] =
      folder === scope
        ? ['', []]
        : [
            'JOIN documents d ON d.id = words.rowid AND d.key >= ? AND d.key < ?',
            [scope, prefixUpperBound(scope)],
          ];
    const rows = this.#db
      .sql<{ key: string; fields: string; text: string }>(
        `SELECT d.key, d.fields, d.text FROM (
          SELECT id, score FROM (
            SELECT words.rowid AS id, -bm25(words, 0, 1) AS score FROM words ${join}
            WHERE words MATCH ? ORDER BY words.rowid DESC LIMIT ${RANKED_TEXTS}
          ) ORDER BY score DESC, id DESC LIMIT ?
        ) best JOIN documents d ON d.id = best.id ORDER BY best.score DESC, best.id DESC`,
      )
      .iterate(...range, inFolder(match), Math.max(limit, CANDIDATES));
    const candidates: Candidate[] = [];
    let chars = 0;
    for (const { key, fields, text } of rows) {
      candidates.push({ key, fields: JSON.parse(fields), text: joinLetters(text) });
      chars += text.length;
      if (chars > READ_CHARS) break;
    }
    return candidates;
  }

  /** Counts the matching texts; stops after `RANKED_TEXTS` + 1. */
  #count(match: string): number {
    const sql = `SELECT count(*) AS count FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ${RANKED_TEXTS + 1})`;
    return this.#db.sql<{ count: number }>(sql).get(match)!.count;
  }
}

/** Returns the folders of a key: `a/` and `a/b/` for `a/b/c`. */
function folders(key: string): string[] {
  const found: string[] = [];
  for (
    let slash = key.indexOf('/');
    slash >= 0 && found.length < FOLDER_DEPTH;
    slash = key.indexOf('/', slash + 1)
  ) {
    found.push(key.slice(0, slash + 1));
  }
  return found;
}

/**
 * Prepares a text for the index: removes the characters that mark matches, and puts a separator around each letter of
 * a script without spaces.
 */
export function splitLetters(text: string): string {
  const clean = text.toWellFormed().replace(/[\u0000\u0002\u0003\u200b]/g, ' ');
  // Scripts without spaces start at U+0E01. The pattern takes milliseconds to compile, and most texts contain
  // no such character and do not need the pattern.
  return /[\u0e00-\uffff]/.test(clean) ? clean.replace(unspaced(), `${SEPARATOR}$&${SEPARATOR}`) : clean;
}

/** Undoes `splitLetters`. */
export function joinLetters(text: string): string {
  return text.replaceAll(SEPARATOR, '');
}

/** Returns a query term as a quoted FTS5 expression. */
export function ftsPattern({ text, finds }: Term): string {
  return finds === 'begin' ? `"${text}"*` : `"${splitLetters(text)}"`;
}
