import { hash } from 'node:crypto';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { gunzipSync, gzipSync } from 'node:zlib';
import { tooLarge } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import { INDEX_TEXT_CHARS } from '../../base/limits.ts';
import { checkKey, checkLimit, checkScope, encodeJson } from '../../kernel/admission.ts';
import { queryTerms, rankPassages } from '../../kernel/passages.ts';
import type { Hit, SearchIndex } from '../../kernel/search-index.ts';
import { FullText, segmented, type TextDatabase, type TextStatement } from '../full-text.ts';
import type { Stored as Message } from './connection.ts';
import type { Store } from './store.ts';

/** Another form of the tables, or of what is in them, is built anew. */
const FORMAT = 1;

const TABLES = `
  CREATE TABLE documents (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, scope TEXT NOT NULL, fields TEXT NOT NULL, text TEXT NOT NULL
  );
  CREATE VIRTUAL TABLE words USING fts5 (
    scope, text, content = 'documents', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2', prefix = '1'
  );
  CREATE TABLE place (stream TEXT NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL);
  PRAGMA user_version = ${FORMAT};
`;

/** One message holds so much of a document, packed; a larger one comes in parts. */
const PART_BYTES = 512 * 1024;

/** That a document is gone is told for so long; an index that was last brought up to date before that is built anew. */
const REMOVED_SECONDS = 30 * 86_400;

/** Documents that are taken over at once, between which others run. */
const STEP = 50;

/**
 * Full text of this server's own, in a SQLite file that may be lost at any time. Documents are kept by JetStream, the last one of
 * each key; before a search the index is brought up to where the leader is.
 */
export class NatsSearchIndex implements SearchIndex {
  readonly #store: Store;
  readonly #file: string;
  #open: { db: DatabaseSync; texts: FullText } | null = null;
  #following: Promise<void> = Promise.resolve();

  /** `file` is where the index is kept; `:memory:` for one that goes with the process. */
  constructor(store: Store, file: string) {
    this.#store = store;
    this.#file = file;
  }

  async put(key: string, text: string, fields: JsonObject): Promise<void> {
    checkKey('a key', key);
    encodeJson('the fields of a document', fields, this.#store.limits.recordBytes);
    if (text.length > INDEX_TEXT_CHARS) throw tooLarge('the text of a document', INDEX_TEXT_CHARS);
    const packed = gzipSync(JSON.stringify({ key, text: text.toWellFormed(), fields }));
    const { connection } = this.#store;
    const subject = this.#subject(key);
    const parts = Math.ceil(packed.length / PART_BYTES);
    // The head comes last: who reads it finds the others.
    for (let i = parts - 1; i >= 0; i--) {
      const part = packed.subarray(i * PART_BYTES, (i + 1) * PART_BYTES);
      await connection.publish(
        `${subject}.${i}`,
        i === 0 ? Buffer.concat([Uint8Array.of(parts), part]) : part,
      );
    }
  }

  async remove(key: string): Promise<void> {
    checkKey('a key', key);
    const gone = Buffer.concat([Uint8Array.of(0), Buffer.from(key)]);
    await this.#store.connection.publish(`${this.#subject(key)}.0`, gone, { ttl: REMOVED_SECONDS });
  }

  async search(scope: string, query: string, o: { limit?: number } = {}): Promise<Hit[]> {
    checkScope('the scope of a search', scope);
    const limit = checkLimit(o.limit);
    const terms = queryTerms(query);
    await this.follow();
    return rankPassages(this.#opened().texts.candidates(scope, terms, limit), terms, limit);
  }

  /** Brings the index up to the last document that the leader names. */
  follow(): Promise<void> {
    this.#following = this.#following.catch(() => {}).then(() => this.#catchUp());
    return this.#following;
  }

  close(): void {
    this.#open?.db.close();
    this.#open = null;
  }

  #subject(key: string): string {
    return `${this.#store.name}.d.${hash('sha256', key, 'base64url')}`;
  }

  async #catchUp(): Promise<void> {
    const { connection, streams } = this.#store;
    const { db, texts } = this.#opened();
    const info = await connection.api(`STREAM.INFO.${streams.documents}`);
    const { last_seq: last } = info!.state as { last_seq: number };
    const place = db.prepare('SELECT stream, seq, at FROM place').get() as
      | { stream: string; seq: number; at: number }
      | undefined;
    let seq = place?.seq ?? 0;
    if (
      place &&
      (place.stream !== streams.documents ||
        place.seq > last ||
        Date.now() - place.at > REMOVED_SECONDS * 900)
    ) {
      db.exec('DELETE FROM documents; DELETE FROM words; DELETE FROM place');
      seq = 0;
    }
    const heads = `${this.#store.name}.d.*.0`;
    while (seq < last) {
      const batch = await connection.batch(streams.documents, {
        ...{ seq: seq + 1, next_by_subj: heads, batch: STEP, max_bytes: 8 * PART_BYTES },
      });
      let messages = batch?.messages ?? [];
      if (messages.length === 0) {
        const next = await connection.next(streams.documents, heads, seq + 1);
        messages = next ? [next] : [];
      }
      const documents = await Promise.all(messages.map((message) => this.#document(message)));
      const end = messages.at(-1)?.seq ?? last;
      db.exec('BEGIN IMMEDIATE');
      try {
        for (const document of documents) {
          if (document === null) continue;
          if (document.text === undefined) texts.remove(document.key);
          else texts.put(document.key, segmented(document.text), JSON.stringify(document.fields));
        }
        db.exec('DELETE FROM place');
        db.prepare('INSERT INTO place VALUES (?, ?, ?)').run(streams.documents, end, Date.now());
        db.exec('COMMIT');
      } catch (error) {
        db.exec('ROLLBACK');
        throw error;
      }
      seq = end;
    }
  }

  /** Null where a newer one has taken its place meanwhile; its head is still to come. */
  async #document(head: Message) {
    const [parts, rest] = [head.data[0]!, head.data.subarray(1)];
    if (parts === 0) return { key: Buffer.from(rest).toString(), text: undefined, fields: {} };
    const pieces = [rest];
    for (let i = 1; i < parts; i++) {
      const subject = head.subject.replace(/\d+$/, String(i));
      const part = await this.#store.connection.last(this.#store.streams.documents, subject);
      if (!part || part.seq > head.seq) return null;
      pieces.push(part.data);
    }
    const text = gunzipSync(Buffer.concat(pieces)).toString();
    return JSON.parse(text) as { key: string; text: string; fields: JsonObject };
  }

  #opened(): { db: DatabaseSync; texts: FullText } {
    if (this.#open) return this.#open;
    const db = new DatabaseSync(this.#file);
    db.exec('PRAGMA busy_timeout = 2000; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
    const { user_version: format } = db.prepare('PRAGMA user_version').get() as { user_version: number };
    if (format !== FORMAT) {
      db.exec('DROP TABLE IF EXISTS words; DROP TABLE IF EXISTS documents; DROP TABLE IF EXISTS place');
      db.exec(TABLES);
    }
    this.#open = { db, texts: new FullText(new Statements(db), (folder) => sha256(folder).slice(0, 32)) };
    return this.#open;
  }
}

/** Prepared once each. */
class Statements implements TextDatabase {
  readonly #db: DatabaseSync;
  readonly #prepared = new Map<string, StatementSync>();

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  sql<Row>(text: string): TextStatement<Row> {
    let statement = this.#prepared.get(text);
    if (!statement) {
      statement = this.#db.prepare(text);
      this.#prepared.set(text, statement);
    }
    return statement as unknown as TextStatement<Row>;
  }
}

function sha256(text: string): string {
  return hash('sha256', text, 'hex');
}
