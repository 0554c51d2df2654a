import { RelayError } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import { checkKey, checkLimit, checkScope, encodeJson } from '../../kernel/admission.ts';
import type { Hit, SearchIndex } from '../../kernel/search-index.ts';
import type { CommitQueue } from './commit-queue.ts';
import type { Database } from './database.ts';
import { behindPrefix } from './names.ts';
import { matchOf, segmented, unsegmented } from './words.ts';

/** Among more matches than this the newest are ranked: a word that is everywhere ranks nothing, and costs the most. */
const RANKED = 1000;

/** How deep a folder may lie and still be a word; further down, keys are compared one by one. */
const FOLDERS = 8;

/** Words in a snippet. */
const SNIPPET_WORDS = 24;

/**
 * Full text in FTS5. Case and diacritics do not count. Every folder of a key is a word of its own in the index, so
 * that a search inside one walks through its documents and nobody else's.
 */
export class SqliteSearchIndex implements SearchIndex {
  readonly #db: Database;
  readonly #queue: CommitQueue;
  readonly #maxBytes: number;

  constructor(db: Database, queue: CommitQueue, maxBytes: number) {
    this.#db = db;
    this.#queue = queue;
    this.#maxBytes = maxBytes;
  }

  async put(key: string, text: string, fields: JsonObject): Promise<void> {
    checkKey('a key', key);
    const json = encodeJson('the fields of a document', fields, this.#maxBytes);
    if (text.length > this.#maxBytes) {
      throw new RelayError('too_large', { what: 'the text of a document', limit: this.#maxBytes });
    }
    const words = segmented(text);
    const scope = folders(key).map(folderWord).join(' ');
    await this.#queue.run(() => {
      this.#forget(key);
      const sql = 'INSERT INTO documents (key, scope, fields, text) VALUES (?, ?, ?, ?)';
      const { lastInsertRowid } = this.#db.sql(sql).run(key, scope, json, words);
      this.#db
        .sql('INSERT INTO words (rowid, scope, text) VALUES (?, ?, ?)')
        .run(lastInsertRowid, scope, words);
    }, words.length);
  }

  async remove(key: string): Promise<void> {
    checkKey('a key', key);
    await this.#queue.run(() => this.#forget(key));
  }

  async search(scope: string, query: string, o: { limit?: number } = {}): Promise<Hit[]> {
    checkScope('the scope of a search', scope);
    const limit = checkLimit(o.limit);
    const match = matchOf(query);
    if (match === null) return [];
    const folder = folders(scope).at(-1)!;
    const inFolder = `scope:"${folderWord(folder)}" AND text:(${match})`;
    return this.#db.patiently(() => this.#search(inFolder, folder === scope ? null : scope, limit));
  }

  /** `prefix`: what the keys must begin with, where the match does not see to that already. */
  #search(match: string, prefix: string | null, limit: number): Hit[] {
    const [join, range] =
      prefix === null
        ? ['', []]
        : [
            'JOIN documents d ON d.id = words.rowid AND d.key >= ? AND d.key < ?',
            [prefix, behindPrefix(prefix)],
          ];
    const best = this.#db
      .sql(
        `SELECT id, score FROM (
          SELECT words.rowid AS id, -bm25(words, 0, 1) AS score FROM words ${join}
          WHERE words MATCH ? ORDER BY words.rowid DESC LIMIT ${RANKED}
        ) ORDER BY score DESC, id DESC LIMIT ?`,
      )
      .all(...range, match, limit) as { id: number; score: number }[];
    if (best.length === 0) return [];
    const ids = best.map((hit) => hit.id);
    // Once more through the matches, for the few that are shown: snippets of all would cost far more. The sign keeps
    // SQLite from starting the search anew for each.
    const rows = this.#db
      .sql(
        `SELECT d.id, d.key, d.fields, snippet(words, 1, char(2), char(3), '…', ${SNIPPET_WORDS}) AS snippet
        FROM words JOIN documents d ON d.id = words.rowid
        WHERE words MATCH ? AND words.rowid BETWEEN CAST(? AS INTEGER) AND CAST(? AS INTEGER)
        AND +words.rowid IN (SELECT value FROM json_each(?))`,
      )
      .all(match, Math.min(...ids), Math.max(...ids), JSON.stringify(ids)) as {
      id: number;
      key: string;
      fields: string;
      snippet: string;
    }[];
    const byId = new Map(rows.map((row) => [row.id, row]));
    return best.flatMap(({ id, score }) => {
      const row = byId.get(id);
      if (!row) return [];
      return { key: row.key, score, snippet: unsegmented(row.snippet), fields: JSON.parse(row.fields) };
    });
  }

  #forget(key: string): void {
    const row = this.#db.sql('SELECT id, scope, text FROM documents WHERE key = ?').get(key);
    if (!row) return;
    const { id, scope, text } = row as { id: number; scope: string; text: string };
    const sql = "INSERT INTO words (words, rowid, scope, text) VALUES ('delete', ?, ?, ?)";
    this.#db.sql(sql).run(id, scope, text);
    this.#db.sql('DELETE FROM documents WHERE id = ?').run(id);
  }
}

/** `a/b/c` lies in `a/` and in `a/b/`. */
function folders(key: string): string[] {
  const found: string[] = [];
  for (
    let slash = key.indexOf('/');
    slash >= 0 && found.length < FOLDERS;
    slash = key.indexOf('/', slash + 1)
  ) {
    found.push(key.slice(0, slash + 1));
  }
  return found;
}

/** One word, whatever characters the folder has. */
function folderWord(folder: string): string {
  return process.getBuiltinModule('node:crypto').hash('sha256', folder, 'hex').slice(0, 32);
}
