import { type Candidate, queryTerms, rankPassages, type Term, unspaced } from '../kernel/passages.ts';
import type { Hit } from '../kernel/search-index.ts';
import { prefixUpperBound } from '../kernel/validate-input.ts';

/** A word that more texts have than this tells nothing apart and costs the most; among so many matches the newest are ranked. */
const RANKED_TEXTS = 1000;

/** How deep a folder may lie and still be a word; further down, keys are compared one by one. */
const FOLDER_DEPTH = 8;

/** Texts that are read for their best passages at least, and how many characters at most: the last text may go beyond. */
const CANDIDATES = 50;
const READ_CHARS = 2 * 1024 * 1024;

/** Separates words for FTS5 and nothing for a reader, so it can be taken out again. */
const SEPARATOR = '\u200b';

type Value = string | number | bigint | Uint8Array | null;

/** A SQLite database, as far as this needs it. */
export interface TextDatabase {
  sql<Row>(text: string): TextStatement<Row>;
}

export interface TextStatement<Row> {
  get(...values: Value[]): Row | undefined;
  iterate(...values: Value[]): IterableIterator<Row>;
  run(...values: Value[]): { readonly lastInsertRowid: number | bigint };
}

/**
 * Full text in FTS5, for every engine that has a SQLite at hand. FTS5 would take a whole sentence of a script without spaces for
 * one word, so each letter of these becomes a word of its own, and letters that touch in a query must touch in the text. Case and
 * diacritics do not count. Every folder of a key is a word of its own in the index, so that a search inside one walks through its
 * documents and nobody else's.
 */
export class FullText {
  readonly #db: TextDatabase;
  readonly #folderWord: (folder: string) => string;

  /** `folderWord` makes one word of a folder's name, of letters and digits alone: a different one for each. */
  constructor(db: TextDatabase, folderWord: (folder: string) => string) {
    this.#db = db;
    this.#folderWord = folderWord;
  }

  /** To be called inside a transaction; `words` is a text as `segmented` gives it, `fields` JSON. */
  put(key: string, words: string, fields: string): void {
    this.remove(key);
    const scope = folders(key)
      .map((folder) => this.#folderWord(folder))
      .join(' ');
    const sql = 'INSERT INTO documents (key, scope, fields, text) VALUES (?, ?, ?, ?)';
    const { lastInsertRowid } = this.#db.sql(sql).run(key, scope, fields, words);
    this.#db
      .sql('INSERT INTO words (rowid, scope, text) VALUES (?, ?, ?)')
      .run(lastInsertRowid, scope, words);
  }

  remove(key: string): void {
    const find = 'SELECT id, scope, text FROM documents WHERE key = ?';
    const row = this.#db.sql<{ id: number; scope: string; text: string }>(find).get(key);
    if (!row) return;
    const sql = "INSERT INTO words (words, rowid, scope, text) VALUES ('delete', ?, ?, ?)";
    this.#db.sql(sql).run(row.id, row.scope, row.text);
    this.#db.sql('DELETE FROM documents WHERE id = ?').run(row.id);
  }

  /** Bounded work: 64 terms, the 1000 newest matches, and 2 MiB of text in which passages are ranked. */
  search(scope: string, query: string, limit: number): Hit[] {
    const terms = queryTerms(query);
    return rankPassages(this.#candidates(scope, terms, limit), terms, limit);
  }

  /** The texts that may hold the best passages. */
  #candidates(scope: string, terms: readonly Term[], limit: number): Candidate[] {
    const folder = folders(scope).at(-1)!;
    const inFolder = (match: string) => `scope:"${this.#folderWord(folder)}" AND text:(${match})`;
    const counted = terms.map((term) => {
      const match = ftsPattern(term);
      return { match, count: this.#count(inFolder(match)) };
    });
    const known = counted.filter(({ count }) => count > 0);
    const telling = known.filter(({ count }) => count <= RANKED_TEXTS);
    if (known.length === 0) return [];
    const match = (telling.length > 0 ? telling : known).map((each) => each.match).join(' OR ');
    // Keys are compared one by one only where the match does not see to that already.
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

  /** How many texts match, as far as that matters. */
  #count(match: string): number {
    const sql = `SELECT count(*) AS count FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ${RANKED_TEXTS + 1})`;
    return this.#db.sql<{ count: number }>(sql).get(match)!.count;
  }
}

/** `a/b/c` lies in `a/` and in `a/b/`. */
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

/** The text as it is indexed: marks of snippets taken out, and a seam around every letter of an unspaced script. */
export function splitLetters(text: string): string {
  const clean = text.toWellFormed().replace(/[\u0000\u0002\u0003\u200b]/g, ' ');
  // The first of these scripts begins at U+0E01, and to make the pattern takes a command milliseconds.
  return /[\u0e00-\uffff]/.test(clean) ? clean.replace(unspaced(), `${SEPARATOR}$&${SEPARATOR}`) : clean;
}

export function joinLetters(text: string): string {
  return text.replaceAll(SEPARATOR, '');
}

/** A word of a query as FTS5 takes it, quoted. */
export function ftsPattern({ text, finds }: Term): string {
  return finds === 'begin' ? `"${text}"*` : `"${splitLetters(text)}"`;
}
