import { uploadTooSlow } from '../../base/errors.ts';
import { INLINE_BLOB_BYTES, LATE_FILE_BYTES, SEGMENT_BLOB_BYTES } from '../../base/limits.ts';
import type {
  BlobBody,
  BlobInfo,
  BlobOptions,
  BlobPage,
  Blobs,
  ByteRange,
  Expiry,
} from '../../kernel/blobs.ts';
import type { Staged } from '../../kernel/records.ts';
import {
  type BodyLimits,
  checkExpiry,
  checkKey,
  checkRange,
  checkSize,
  readPieces,
  resolveExpiry,
} from '../../kernel/validate-input.ts';
import { BodyHashes } from '../body-hashes.ts';
import { listBlobs } from './blob-listing.ts';
import { describeDamage, openVerifiedBody, readVerifiedBody, type StoredBody } from './body-check.ts';
import { BodyFiles, type Content, type Draft, isPlaced, normalizePlace, type Place } from './body-files.ts';
import { type Operation, StagedWrite, type Store, type Transaction } from './commit-queue.ts';
import { type DeletedBody, queueForWipe } from './secure-delete.ts';
import { isSegment, Segments } from './segments.ts';
import { translateError } from './translate-error.ts';

/** Size of the body cache in bytes. Many agents pull the same payload, and SQLite reads large rows slowly. */
const CACHE_BYTES = 16 * 1024 * 1024;

/** LRU cache of verified bodies, keyed by SHA-256. */
class BodyCache {
  readonly #bodies = new Map<string, Uint8Array>();
  #bytes = 0;

  get(sha256: string): Uint8Array | undefined {
    const body = this.#bodies.get(sha256);
    if (body && this.#bodies.delete(sha256)) this.#bodies.set(sha256, body);
    return body;
  }

  add(sha256: string, body: Uint8Array): void {
    if (this.#bodies.has(sha256) || body.length > CACHE_BYTES / 8) return;
    this.#bodies.set(sha256, body);
    this.#bytes += body.length;
    for (const [oldest, { length }] of this.#bodies) {
      if (this.#bytes <= CACHE_BYTES) return;
      this.#bodies.delete(oldest);
      this.#bytes -= length;
    }
  }
}

/**
 * Blobs in SQLite. Small bodies are in rows, medium bodies in segments, and large bodies in their own files.
 */
export class SqliteBlobs implements Blobs {
  readonly #store: Store;
  readonly #files: BodyFiles;
  readonly segments: Segments;
  readonly #usesSegments: boolean;
  /**
   * Maximum size in bytes of a body that stays in memory until it is committed. A larger body is written to a file as
   * it arrives.
   */
  readonly #bufferedBytes: number;
  readonly #place: Place | undefined;
  readonly #cache = new BodyCache();

  /**
   * With `usesSegments`, bodies that are too large for a row and too small for a file of their own are appended to
   * segment files.
   */
  constructor(store: Store, { place, usesSegments }: { place: Place | undefined; usesSegments: boolean }) {
    this.#store = store;
    const durable = store.limits.durability === 'power';
    this.#files = new BodyFiles(store, durable);
    this.segments = new Segments(store.home, store.env, durable);
    this.#usesSegments = usesSegments;
    this.#bufferedBytes = usesSegments ? SEGMENT_BLOB_BYTES.max : INLINE_BLOB_BYTES;
    this.#place = place;
  }

  async put(key: string, body: BlobBody, o: BlobOptions = {}): Promise<BlobInfo> {
    // Copy a body that stays in memory until the commit, because the caller may change its array during `put`.
    const stable =
      body instanceof Uint8Array && body.length <= this.#bufferedBytes ? new Uint8Array(body) : body;
    const { content, ...info } = await this.#storeBytes(key, stable, o);
    if (!content) return info;
    await this.#commit(key, content).catch((error) => {
      if (content.draft) this.#files.removeSync(content.draft.file);
      throw error;
    });
    return info;
  }

  /**
   * Stages a body. A large stream is stored at once, with its row. If the commit point never comes, deleting the row
   * also deletes its file.
   */
  async stage(key: string, body: BlobBody, o: BlobOptions = {}): Promise<Staged & BlobInfo> {
    const { content, ...info } = await this.#storeBytes(key, body, o);
    if (!content) return { key, ...info };
    const write: Operation<void> = (tx) => void this.#write(tx, key, content);
    return Object.assign(new StagedWrite(key, write, content.location ? 0 : content.size), info);
  }

  /**
   * Moves bodies from their rows into the files that `Place` assigns to them. It is not part of the port: the app
   * calls it to keep files that people can read.
   */
  async makeFiles(keys: readonly string[]): Promise<void> {
    const { db, queue } = this.#store;
    const moves = keys.map(async (key) => {
      const place = this.#place?.path(key);
      const row = place === undefined ? undefined : await this.#row(key);
      if (!row?.body || row.file !== null) return;
      const draft = await this.#files.write([row.body], [], true);
      const sql = 'UPDATE blobs SET file = ?, body = NULL WHERE key = ? AND file IS NULL AND sha256 = ?';
      const placing = queue.run((tx) => {
        if (db.sql(sql).run(place!, key, row.sha256).changes > 0) this.#files.placeSync(draft, place!, tx);
      });
      await placing.finally(() => this.#files.remove(draft.file));
    });
    await Promise.all(moves);
  }

  async get(key: string, range?: ByteRange): Promise<{ body: BlobBody; size: number } | null> {
    checkKey('a key', key);
    for (let before: StoredBody | undefined; ; ) {
      const row = await this.#row(key);
      if (!row) return null;
      if (row.body) {
        if (range) checkRange(range, row.size);
        return { body: range ? row.body.subarray(range.start, range.end) : row.body, size: row.size };
      }
      const body =
        row.offset === null && row.file !== null ? await openVerifiedBody(this.#store, row, range) : null;
      if (body) return { body, size: row.size };
      // The row may have changed between the two reads. If it is unchanged, the body is really damaged.
      if (before?.file === row.file && before.offset === row.offset && before.sha256 === row.sha256) {
        throw await describeDamage(this.#store, key, row);
      }
      before = row;
    }
  }

  async delete(key: string): Promise<void> {
    checkKey('a key', key);
    const found = await this.#store.db.retryWhileBusy(() =>
      this.#store.db.sql('SELECT 1 FROM blobs WHERE key = ?').get(key),
    );
    if (!found) return;
    const old = await this.#store.queue.free(() => {
      const sql = 'DELETE FROM blobs WHERE key = ? RETURNING file, offset, size';
      const deleted = this.#store.db.sql<DeletedBody>(sql).get(key);
      if (deleted) queueForWipe(this.#store, deleted);
      return deleted;
    });
    if (old) await this.removeBody(old);
  }

  list(prefix: string, o?: { after?: string; limit?: number }): Promise<BlobPage> {
    return listBlobs(this.#store, prefix, o);
  }

  /**
   * Deletes the file of a deleted body. Another process may store a new body at a path that `Place` chose. Such a file
   * is deleted in a transaction, and only if no row refers to it. Never throws, because the row is already deleted.
   */
  async removeBody({ file, offset }: DeletedBody): Promise<void> {
    if (file === null || offset !== null) return;
    if (!isPlaced(file)) return this.#files.remove(file);
    const removed = this.#store.queue.free(() => {
      const used = this.#store.db.sql('SELECT 1 FROM blobs WHERE file = ?').get(file);
      if (!used) this.#files.removeSync(file);
    });
    // If this fails, a sweep deletes the file.
    await removed.catch(() => {});
  }

  /**
   * Writes the bytes to their final location. `content` has the values for the row; it is absent if the row is
   * already written.
   */
  async #storeBytes(key: string, body: BlobBody, o: BlobOptions): Promise<BlobInfo & { content?: Content }> {
    const limits: BodyLimits = { size: o.size, max: this.#store.limits.blobBytes };
    let place: string | undefined;
    try {
      checkKey('a key', key);
      if (typeof o.expiresAt === 'number') checkExpiry(o.expiresAt);
      checkSize(body, limits);
      if (this.#place && key.startsWith(this.#place.prefix)) place = this.#place.path(key);
      if (place !== undefined) place = normalizePlace(place);
    } catch (error) {
      // Ignore an error while cancelling the source, because it would hide the reason for the rejection.
      if (!(body instanceof Uint8Array)) await body.cancel(error).catch(() => {});
      throw error;
    }
    if (place !== undefined && body instanceof Uint8Array && body.length <= LATE_FILE_BYTES) {
      // A server creates the file later. A CLI process would end before that, so it writes a draft now.
      return this.#usesSegments
        ? this.#prepareInMemory([body], o.expiresAt, true)
        : this.#prepareDraft(body, place, o.expiresAt);
    }
    if (body instanceof Uint8Array && place === undefined && body.length <= this.#bufferedBytes) {
      return this.#prepareInMemory([body], o.expiresAt);
    }
    const pieces = readPieces(body, limits);
    const head: Uint8Array[] = [];
    if (place === undefined) {
      for (let length = 0; length <= this.#bufferedBytes; ) {
        const { done, value } = await pieces.next();
        if (done) return this.#prepareInMemory(head, o.expiresAt);
        head.push(value);
        length += value.length;
      }
    }
    return this.#putFile(key, head, pieces, place, o.expiresAt);
  }

  /** Prepares a body that fits into memory: keeps it for its row, or appends it to a segment. */
  async #prepareInMemory(
    pieces: readonly Uint8Array[],
    expiry: Expiry | undefined,
    inRow = !this.#usesSegments,
  ): Promise<BlobInfo & { content: Content }> {
    const hashes = new BodyHashes();
    for (const piece of pieces) hashes.update(piece);
    const { size, sha256, blocks } = hashes.digest();
    const info = { size, sha256 };
    const expires = (await resolveExpiry(expiry)) ?? null;
    const content = { ...info, blocks, expires, pieces };
    // If no other write is running, put the body into its row, because that needs one fsync instead of two.
    const isOnlyWrite = () => size <= INLINE_BLOB_BYTES && this.segments.isIdle && this.#store.queue.isIdle;
    if (inRow || size < SEGMENT_BLOB_BYTES.min || isOnlyWrite()) return { ...info, content };
    const location = await this.segments.append(pieces, expires).catch((error) => {
      throw translateError(error, this.#store.db.path);
    });
    return { ...info, content: { ...content, location } };
  }

  /**
   * Writes a small body as a draft file, which the commit moves to its path. A sweep deletes drafts that were never
   * committed.
   */
  async #prepareDraft(body: Uint8Array, place: string, expiry: Expiry | undefined) {
    const expires = (await resolveExpiry(expiry)) ?? null;
    try {
      const draft = this.#files.writeDraftSync(body);
      const content = { ...draft, expires, location: { file: place, offset: null }, draft };
      return { size: draft.size, sha256: draft.sha256, content };
    } catch (error) {
      throw translateError(error, this.#store.db.path);
    }
  }

  async #putFile(
    key: string,
    head: readonly Uint8Array[],
    rest: AsyncGenerator<Uint8Array>,
    place: string | undefined,
    expiresAt: Expiry | undefined,
  ): Promise<BlobInfo> {
    const placed = place !== undefined;
    let draft: Draft;
    try {
      draft = await this.#files.write(head, rest, placed);
    } catch (error) {
      await rest.return(undefined);
      throw translateError(error, this.#store.db.path);
    }
    try {
      const expires = (await resolveExpiry(expiresAt)) ?? null;
      const location = { file: place ?? draft.file, offset: null };
      await this.#commit(key, { ...draft, expires, location, draft: placed ? draft : undefined });
      return { size: draft.size, sha256: draft.sha256 };
    } catch (error) {
      await this.#files.remove(draft.file);
      throw error;
    }
  }

  async #commit(key: string, content: Content): Promise<void> {
    const before = await this.#store.queue.run(
      (tx) => {
        const old = this.#write(tx, key, content);
        return old && old.file !== content.location?.file ? old : undefined;
      },
      content.location ? 0 : content.size,
    );
    if (before) await this.removeBody(before);
  }

  /** Writes the row inside a transaction. Returns the body that the row had before, if any. */
  #write(tx: Transaction, key: string, content: Content): DeletedBody | undefined {
    const { db, env } = this.#store;
    const { size, sha256, blocks, expires, pieces, draft } = content;
    let { location } = content;
    if (location && !draft && !this.#files.hasSync(location.file)) {
      // A sweep deleted the file after it was written. If the bytes are still in memory, store them in the row.
      if (!pieces) throw uploadTooSlow();
      location = undefined;
    }
    const old = db
      .sql<DeletedBody & { id: number }>('SELECT id, file, offset, size FROM blobs WHERE key = ?')
      .get(key);
    if (old) queueForWipe(this.#store, old);
    const body = location ? null : pieces!.length === 1 ? pieces![0]! : Buffer.concat(pieces!);
    const values = [
      size,
      sha256,
      blocks,
      env.now(),
      expires,
      location?.file ?? null,
      location?.offset ?? null,
      body,
    ];
    const sql = `INSERT OR REPLACE INTO blobs (id, key, size, sha256, blocks, at, expires, file, offset, body)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
    db.sql(sql).run(old?.id ?? null, key, ...values);
    if (draft) this.#files.placeSync(draft, location!.file, tx);
    return old;
  }

  #row(key: string): Promise<StoredBody | undefined> {
    const { db, env } = this.#store;
    const live = 'FROM blobs WHERE key = ? AND (expires IS NULL OR expires > ?)';
    return db.retryWhileBusy(() => {
      const metadata = db
        .sql<Pick<StoredBody, 'file' | 'sha256'>>(`SELECT file, sha256 ${live}`)
        .get(key, env.now());
      if (!metadata) return undefined;
      const isFile = metadata.file !== null && !isSegment(metadata.file);
      const cached = isFile ? undefined : this.#cache.get(metadata.sha256);
      if (cached) return { ...metadata, size: cached.length, offset: null, blocks: null, body: cached };
      const sql = `SELECT size, sha256, file, offset, blocks, body ${live}`;
      const row = db.sql<StoredBody>(sql).get(key, env.now());
      if (!row) return undefined;
      const body = readVerifiedBody(this.#store, row);
      if (body) this.#cache.add(row.sha256, body);
      return { ...row, body };
    });
  }
}
