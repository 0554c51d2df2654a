import { tooLarge } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import { checkKey, checkLimit, checkScope, encodeJson } from '../../kernel/admission.ts';
import type { Hit, SearchIndex } from '../../kernel/search-index.ts';
import { behindPrefix } from './names.ts';
import type { Store } from './store.ts';

/** Among more matches than this the newest are ranked: a word that is everywhere ranks nothing, and costs the most. */
const RANKED = 1000;

/** How deep a folder may lie and still be a word; further down, keys are compared one by one. */
const FOLDERS = 8;

/** Words in a snippet. */
const SNIPPET_WORDS = 24;

/** Different words of a query that are looked up; each costs a walk, and what so many do not tell apart, more do not. */
const QUERY_WORDS = 64;

/**
 * Scripts that are written without spaces. FTS5 would take a whole sentence for one word, so each letter becomes a
 * word of its own, and letters that touch in a query must touch in the text.
 */
const unspaced = () =>
  /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}\p{scx=Hang}]\p{M}*/gu;

/** Separates words for FTS5 and nothing for a reader, so it can be taken out again. */
const SEAM = '\u200b';

/** A letter or digit: what FTS5 makes a word of. */
const word = () => /[\p{L}\p{N}\p{Co}]/u;

/**
 * Full text in FTS5. Case and diacritics do not count. Every folder of a key is a word of its own in the index, so
 * that a search inside one walks through its documents and nobody else's.
 */
export class SqliteSearchIndex implements SearchIndex {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  async put(key: string, text: string, fields: JsonObject): Promise<void> {
    checkKey('a key', key);
    const json = encodeJson('the fields of a document', fields, this.#store.limits.recordBytes);
    if (text.length > this.#store.limits.recordBytes) {
      throw tooLarge('the text of a document', this.#store.limits.recordBytes);
    }
    const words = segmented(text);
    const scope = folders(key).map(folderWord).join(' ');
    await this.#store.queue.run(() => {
      this.#forget(key);
      const sql = 'INSERT INTO documents (key, scope, fields, text) VALUES (?, ?, ?, ?)';
      const { lastInsertRowid } = this.#store.db.sql(sql).run(key, scope, json, words);
      this.#store.db
        .sql('INSERT INTO words (rowid, scope, text) VALUES (?, ?, ?)')
        .run(lastInsertRowid, scope, words);
    }, words.length);
  }

  async remove(key: string): Promise<void> {
    checkKey('a key', key);
    await this.#store.queue.free(() => this.#forget(key));
  }

  async search(scope: string, query: string, o: { limit?: number } = {}): Promise<Hit[]> {
    checkScope('the scope of a search', scope);
    const limit = checkLimit(o.limit);
    const match = matchOf(query);
    if (match === null) return [];
    const folder = folders(scope).at(-1)!;
    const inFolder = `scope:"${folderWord(folder)}" AND text:(${match})`;
    return this.#store.db.patiently(() => this.#search(inFolder, folder === scope ? null : scope, limit));
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
    const best = this.#store.db
      .sql<{ id: number; score: number }>(
        `SELECT id, score FROM (
          SELECT words.rowid AS id, -bm25(words, 0, 1) AS score FROM words ${join}
          WHERE words MATCH ? ORDER BY words.rowid DESC LIMIT ${RANKED}
        ) ORDER BY score DESC, id DESC LIMIT ?`,
      )
      .all(...range, match, limit);
    if (best.length === 0) return [];
    const ids = best.map((hit) => hit.id);
    // Once more through the matches, for the few that are shown: snippets of all would cost far more. The sign keeps
    // SQLite from starting the search anew for each.
    const rows = this.#store.db
      .sql<{ id: number; key: string; fields: string; snippet: string }>(
        `SELECT d.id, d.key, d.fields, snippet(words, 1, char(2), char(3), '…', ${SNIPPET_WORDS}) AS snippet
        FROM words JOIN documents d ON d.id = words.rowid
        WHERE words MATCH ? AND words.rowid BETWEEN CAST(? AS INTEGER) AND CAST(? AS INTEGER)
        AND +words.rowid IN (SELECT value FROM json_each(?))`,
      )
      .all(match, Math.min(...ids), Math.max(...ids), JSON.stringify(ids));
    const byId = new Map(rows.map((row) => [row.id, row]));
    return best.flatMap(({ id, score }) => {
      const row = byId.get(id);
      if (!row) return [];
      return { key: row.key, score, snippet: unsegmented(row.snippet), fields: JSON.parse(row.fields) };
    });
  }

  #forget(key: string): void {
    const find = 'SELECT id, scope, text FROM documents WHERE key = ?';
    const row = this.#store.db.sql<{ id: number; scope: string; text: string }>(find).get(key);
    if (!row) return;
    const sql = "INSERT INTO words (words, rowid, scope, text) VALUES ('delete', ?, ?, ?)";
    this.#store.db.sql(sql).run(row.id, row.scope, row.text);
    this.#store.db.sql('DELETE FROM documents WHERE id = ?').run(row.id);
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

/** The text as it is indexed: marks of snippets taken out, and a seam around every letter of an unspaced script. */
export function segmented(text: string): string {
  const clean = text.toWellFormed().replace(/[\u0000\u0002\u0003\u200b]/g, ' ');
  return clean.replace(unspaced(), `${SEAM}$&${SEAM}`);
}

export function unsegmented(text: string): string {
  return text.replaceAll(SEAM, '');
}

/** A query as FTS5 takes it, every word quoted, the last one a prefix; null where there is no word in it. */
export function matchOf(query: string): string | null {
  const words = segmented(query)
    .split(/[^\p{L}\p{N}\p{Co}\p{M}\u200b]+/u)
    .filter((each) => word().test(each));
  const last = words.pop();
  if (last === undefined) return null;
  const whole = [...new Set(words)].slice(0, QUERY_WORDS).map((word) => `"${word}" AND `);
  return `${whole.join('')}"${last}"*`;
}
