import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { isRelayError, tooLarge } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import { INDEX_TEXT_CHARS } from '../../base/limits.ts';
import type { ExportedDocument } from '../../kernel/moving.ts';
import type { Hit, SearchIndex } from '../../kernel/search-index.ts';
import { checkKey, checkLimit, checkScope, encodeJson } from '../../kernel/validate-input.ts';
import { FullText, splitLetters } from '../full-text.ts';
import { IndexThread, type IndexThreads } from '../index-thread.ts';
import { publishWhenFreed } from './account-storage.ts';
import type { Message } from './connection.ts';
import type { LocalIndex } from './local-index.ts';
import type { Store } from './opening.ts';

const [pack, unpack] = [promisify(gzip), promisify(gunzip)];

/** Maximum compressed bytes per message. A larger document is split into parts. */
const PART_BYTES = 512 * 1024;

/**
 * Lifetime of a tombstone in seconds. A local index that was not updated for nearly as long is rebuilt,
 * because it may have missed deletions.
 */
const TOMBSTONE_SECONDS = 30 * 86_400;

/** Maximum number of documents per batch. */
const BATCH_DOCUMENTS = 50;

/** Sequence up to which the local index is complete, and the time of its last update. */
interface Place {
  readonly stream: string;
  readonly seq: number;
  readonly at: number;
}

/**
 * Full-text index of the documents in JetStream, which stores the last document of each key. Each server has its own
 * index in a local file and can rebuild it at any time. Before a search, the server reads all newer documents from
 * JetStream.
 */
export class NatsSearchIndex implements SearchIndex {
  readonly #store: Store;
  readonly #index: LocalIndex;
  readonly #texts: FullText;
  /** Worker thread for searches and updates. Null if the index is in memory or the process has no worker threads. */
  readonly #thread: IndexThread | null;
  #following: Promise<void> = Promise.resolve();

  constructor(store: Store, index: LocalIndex, threads: IndexThreads | undefined) {
    this.#store = store;
    this.#index = index;
    this.#thread = threads && index.file ? new IndexThread(threads, index.file) : null;
    this.#texts = new FullText(index, (folder) => hash('sha256', folder, 'hex').slice(0, 32));
  }

  async put(key: string, text: string, fields: JsonObject): Promise<void> {
    checkKey('a key', key);
    encodeJson('the fields of a document', fields, this.#store.limits.recordBytes);
    if (text.length > INDEX_TEXT_CHARS) throw tooLarge('the text of a document', INDEX_TEXT_CHARS);
    const packed = await pack(JSON.stringify({ key, text: text.toWellFormed(), fields }));
    const { connection } = this.#store;
    const subject = this.#subject(key);
    const parts = Math.ceil(packed.length / PART_BYTES);
    // Write part 0 last, so that a reader that finds part 0 also finds the other parts.
    for (let i = parts - 1; i >= 0; i--) {
      const part = packed.subarray(i * PART_BYTES, (i + 1) * PART_BYTES);
      await connection.publish(
        `${subject}.${i}`,
        i === 0 ? Buffer.concat([Uint8Array.of(parts), part]) : part,
      );
    }
  }

  async remove(...keys: string[]): Promise<void> {
    for (const key of keys) checkKey('a key', key);
    for (let at = 0; at < keys.length; at += BATCH_DOCUMENTS)
      await Promise.all(keys.slice(at, at + BATCH_DOCUMENTS).map((key) => this.#remove(key)));
  }

  async #remove(key: string): Promise<void> {
    const tombstone = Buffer.concat([Uint8Array.of(0), Buffer.from(key)]);
    const { connection, streams } = this.#store;
    const head = `${this.#subject(key)}.0`;
    const options = { ttl: TOMBSTONE_SECONDS, frees: true };
    await connection.publish(head, tombstone, options).catch(async (error) => {
      if (!isRelayError(error, 'store_full')) throw error;
      await connection.purge(streams.documents, `${this.#subject(key)}.*`);
      // Write the tombstone in the background, as soon as there is room for it. It makes other servers remove the
      // document from their index.
      publishWhenFreed(connection, head, tombstone, options, Number.POSITIVE_INFINITY).catch(() => {});
    });
  }

  async search(scope: string, query: string, o: { limit?: number } = {}): Promise<Hit[]> {
    checkScope('the scope of a search', scope);
    const limit = checkLimit(o.limit);
    await this.follow();
    if (this.#thread) return this.#thread.search({ scope, query, limit });
    return this.#texts.search(scope, query, limit);
  }

  /** Yields all documents. */
  async *export(): AsyncGenerator<ExportedDocument> {
    const { connection, streams, name } = this.#store;
    const heads = `${name}.d.*.0`;
    for (let head = await connection.next(streams.documents, heads, 1); head; ) {
      const document = await this.#document(head);
      if (document?.text !== undefined) yield { ...document, text: document.text };
      head = await connection.next(streams.documents, heads, head.seq + 1);
    }
  }

  /** Returns the age of the local index in ms: 0 if it is complete up to sequence `last`. */
  ageMs(last: number): number {
    const place = this.#place();
    return place === undefined || place.seq >= last ? 0 : Date.now() - place.at;
  }

  /** Updates the local index to the last document of the leader. */
  follow(): Promise<void> {
    // Ignore the error of the previous update: the caller of that update got it.
    this.#following = this.#following.catch(() => {}).then(() => this.#catchUp());
    return this.#following;
  }

  #subject(key: string): string {
    return `${this.#store.name}.d.${hash('sha256', key, 'base64url')}`;
  }

  #place(): Place | undefined {
    return this.#index.sql<Place>('SELECT stream, seq, at FROM place').get();
  }

  async #catchUp(): Promise<void> {
    const { connection, streams } = this.#store;
    const { created, state } = await connection.info(streams.documents);
    const last = state.last_seq;
    const stream = `${streams.documents} ${created}`;
    const place = this.#place();
    const stale = (at: number) => Date.now() - at > TOMBSTONE_SECONDS * 900;
    let seq = place?.seq ?? 0;
    if (place && (place.stream !== stream || place.seq > last || stale(place.at))) {
      this.#index.commit(() => {
        this.#index.sql('DELETE FROM documents').run();
        this.#index.sql("INSERT INTO words (words) VALUES ('delete-all')").run();
        this.#index.sql('DELETE FROM place').run();
      });
      seq = 0;
    }
    const heads = `${this.#store.name}.d.*.0`;
    while (seq < last) {
      const limits = { batch: BATCH_DOCUMENTS, max_bytes: 8 * PART_BYTES };
      const messages = await connection.messagesFrom(streams.documents, heads, seq + 1, limits);
      const documents = await Promise.all(messages.map((message) => this.#document(message)));
      const end = messages.at(-1)?.seq ?? last;
      const changes = documents.flatMap((document) => {
        if (document === null) return [];
        const { key, text, fields } = document;
        return [{ key, text: text ?? null, fields: JSON.stringify(fields) }];
      });
      // If the process is killed before it stores the sequence, the next update applies these changes again.
      await this.#thread?.change(changes);
      this.#index.commit(() => {
        for (const { key, text, fields } of this.#thread ? [] : changes) {
          if (text === null) this.#texts.remove(key);
          else this.#texts.put(key, splitLetters(text), fields);
        }
        this.#index.sql('DELETE FROM place').run();
        this.#index.sql('INSERT INTO place VALUES (?, ?, ?)').run(stream, end, Date.now());
      });
      seq = end;
    }
  }

  /**
   * Reads a document. Returns null if another process is writing a newer version of the document: some parts
   * are already replaced, but not part 0, which is written last.
   */
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
    const text = (await unpack(Buffer.concat(pieces))).toString();
    return JSON.parse(text) as { key: string; text: string; fields: JsonObject };
  }
}
