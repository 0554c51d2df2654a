import { join } from 'node:path';
import type { RelayError } from '../../base/errors.ts';
import { INLINE_BLOB_BYTES, SEGMENT_BLOB_BYTES } from '../../base/limits.ts';
import {
  type BodyLimits,
  checkExpiry,
  checkKey,
  checkLimit,
  checkRange,
  checkSize,
  checkText,
  intake,
  settleExpiry,
} from '../../kernel/admission.ts';
import type { BlobBody, BlobInfo, BlobItem, BlobPage, Blobs, ByteRange, Expiry } from '../../kernel/blobs.ts';
import { BlockHashes, type BodyFault, damagedBody, isIntact } from '../../kernel/block-hashes.ts';
import { keyRange } from '../../kernel/key-range.ts';
import { faultOf, measured, type StoredBody, wholeBody } from './body-check.ts';
import { BodyFiles, checkedPlace, type Draft, isPlaced, takenAway, type WrittenBody } from './body-files.ts';
import { BodyFile } from './body-stream.ts';
import { translated } from './failure.ts';
import { type FormerSpot, noteGone } from './gone.ts';
import { Segments } from './segments.ts';
import { SettledReads } from './settled-reads.ts';
import type { Store } from './store.ts';

/** Which bodies are files with names of their own. */
export interface Place {
  /** Only keys that begin so are asked about. */
  readonly prefix: string;
  /** The file of a key, below the home; undefined for one that has no such file. */
  path(key: string): string | undefined;
}

/** Rows with their bodies held in memory while nothing is written: a hundred and more of the largest that are inlined. */
const SETTLED_BYTES = 16 * 1024 * 1024;

interface Row extends StoredBody {
  readonly expires: number | null;
}

type Content = WrittenBody & Pick<Row, 'file' | 'offset' | 'body'>;

export class SqliteBlobs implements Blobs {
  readonly #store: Store;
  readonly #files: BodyFiles;
  readonly segments: Segments;
  readonly #appends: boolean;
  readonly #place: Place | undefined;
  readonly #settled: SettledReads<Row>;

  /** `appends`: bodies that are too large for the database and too small for a file each go into segments. */
  constructor(store: Store, { place, appends }: { place: Place | undefined; appends: boolean }) {
    this.#store = store;
    const durable = store.limits.durability === 'power';
    this.#files = new BodyFiles(store.home, store.env, durable);
    this.segments = new Segments(store.home, store.env, durable);
    this.#appends = appends;
    this.#place = place;
    this.#settled = new SettledReads(store.db, store.queue, SETTLED_BYTES);
  }

  async put(key: string, body: BlobBody, o: { size?: number; expiresAt?: Expiry } = {}): Promise<BlobInfo> {
    const admission: BodyLimits = { size: o.size, max: this.#store.limits.blobBytes };
    let place: string | undefined;
    try {
      checkKey('a key', key);
      if (typeof o.expiresAt === 'number') checkExpiry(o.expiresAt);
      checkSize(body, admission);
      if (this.#place && key.startsWith(this.#place.prefix)) place = this.#place.path(key);
      if (place !== undefined) place = checkedPlace(place);
    } catch (error) {
      if (!(body instanceof Uint8Array)) await body.cancel(error).catch(() => {});
      throw error;
    }
    const whole = this.#appends ? SEGMENT_BLOB_BYTES.max : INLINE_BLOB_BYTES;
    if (body instanceof Uint8Array && place === undefined && body.length <= whole) {
      return this.#putWhole(key, [new Uint8Array(body)], o.expiresAt);
    }
    const pieces = intake(body, admission);
    const head: Uint8Array[] = [];
    if (place === undefined) {
      for (let length = 0; length <= whole; ) {
        const { done, value } = await pieces.next();
        if (done) return this.#putWhole(key, head, o.expiresAt);
        head.push(value);
        length += value.length;
      }
    }
    return this.#putFile(key, head, pieces, place, o.expiresAt);
  }

  async get(key: string, range?: ByteRange): Promise<{ body: BlobBody; size: number } | null> {
    checkKey('a key', key);
    for (let before: Row | undefined; ; ) {
      // What did not fit the first time is never looked for by memory again.
      const row: Row | undefined = (before ? undefined : this.#known(key)) ?? (await this.#row(key));
      if (!row) return null;
      if (row.body) return inlined(row.body, range);
      const body = row.offset === null && row.file !== null ? await this.#opened(row, range) : null;
      if (body) return { body, size: row.size };
      // Replaced, deleted or moved between the two looks; if it is still the same, it is really damaged.
      if (before?.file === row.file && before.offset === row.offset && before.sha256 === row.sha256) {
        throw damaged(row.file ?? key, (await faultOf(this.#store, row)) ?? 'altered');
      }
      before = row;
    }
  }

  async delete(key: string): Promise<void> {
    checkKey('a key', key);
    const found = await this.#store.db.patiently(() =>
      this.#store.db.sql('SELECT 1 FROM blobs WHERE key = ?').get(key),
    );
    if (!found) return;
    const old = await this.#store.queue.free(() => {
      const sql = 'DELETE FROM blobs WHERE key = ? RETURNING file, offset, size';
      const deleted = this.#store.db.sql<FormerSpot>(sql).get(key);
      if (deleted) noteGone(this.#store, deleted);
      return deleted;
    });
    if (old) await this.removeBody(old);
  }

  async list(prefix: string, o: { after?: string; limit?: number } = {}): Promise<BlobPage> {
    checkText('the prefix of a listing', prefix);
    const limit = checkLimit(o.limit);
    const { where, from, to } = keyRange(prefix, o.after);
    const sql = `SELECT key, size, at FROM blobs WHERE ${where}
      AND (expires IS NULL OR expires > ?) ORDER BY key LIMIT ?`;
    const rows = await this.#store.db.patiently(() =>
      this.#store.db.sql<BlobItem>(sql).all(from, to, this.#store.env.now(), limit + 1),
    );
    const items = rows.slice(0, limit).map((row) => ({ ...row }));
    return rows.length > limit ? { items, next: items.at(-1)!.key } : { items };
  }

  /**
   * Removes the file of a body that no row refers to any more. Another process may be putting a new one at the same chosen
   * place, so there it is done under the lock, and only if no row has come to refer to it. It is too late to fail.
   */
  async removeBody({ file, offset }: FormerSpot): Promise<void> {
    if (file === null || offset !== null) return;
    if (!isPlaced(file)) return this.#files.remove(file);
    const removed = this.#store.queue.free(() => {
      const used = this.#store.db.sql('SELECT 1 FROM blobs WHERE file = ?').get(file);
      if (!used) this.#files.removeNow(file);
    });
    await removed.catch(() => {});
  }

  async #putWhole(key: string, pieces: readonly Uint8Array[], expiry: Expiry | undefined): Promise<BlobInfo> {
    const sha256 = process.getBuiltinModule('node:crypto').createHash('sha256');
    const blocks = new BlockHashes(this.#store.crc32);
    let size = 0;
    for (const piece of pieces) {
      sha256.update(piece);
      blocks.update(piece);
      size += piece.length;
    }
    const expires = await settleExpiry(expiry);
    const written = { size, sha256: sha256.digest('hex'), blocks: blocks.digest() };
    if (!this.#appends || size < SEGMENT_BLOB_BYTES.min) {
      const body = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
      return (await this.#commit(key, { ...written, file: null, offset: null, body }, expires))!;
    }
    for (;;) {
      const spot = await this.segments.append(pieces, expires ?? null).catch((error) => {
        throw translated(error, this.#store.db.path);
      });
      const info = await this.#commit(key, { ...written, ...spot, body: null }, expires);
      if (info) return info;
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
      throw translated(error, this.#store.db.path);
    }
    let kept = false;
    try {
      const content = { ...draft, file: place ?? draft.file, offset: null, body: null };
      const expires = await settleExpiry(expiresAt);
      const info = await this.#commit(key, content, expires, placed ? draft : undefined);
      if (!info) throw takenAway();
      kept = !placed;
      return info;
    } finally {
      if (!kept) await this.#files.discard(draft);
    }
  }

  /** `draft`: what is to be placed at the content's file. Null where a sweep has taken the file since it was written. */
  async #commit(
    key: string,
    { size, sha256, blocks, file, offset, body }: Content,
    expires: number | undefined,
    draft?: Draft,
  ): Promise<BlobInfo | null> {
    const { db, env, queue } = this.#store;
    const sql = `INSERT OR REPLACE INTO blobs (id, key, size, sha256, blocks, at, expires, file, offset, body)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
    const before = await queue.run((tx) => {
      if (file !== null && !draft && !this.#files.hasNow(file)) return null;
      const old = db
        .sql<FormerSpot & { id: number }>('SELECT id, file, offset, size FROM blobs WHERE key = ?')
        .get(key);
      if (old) noteGone(this.#store, old);
      const values = [size, sha256, blocks, env.now(), expires ?? null, file, offset, body];
      db.sql(sql).run(old?.id ?? null, key, ...values);
      if (draft) this.#files.placeNow(draft, file!, tx);
      return old;
    }, body?.length);
    if (before === null) return null;
    if (before && before.file !== file) await this.removeBody(before);
    return { size, sha256 };
  }

  #known(key: string): Row | undefined {
    const row = this.#settled.get(key);
    return row && (row.expires === null || row.expires > this.#store.env.now()) ? row : undefined;
  }

  #row(key: string): Promise<Row | undefined> {
    const { db, env } = this.#store;
    const sql = `SELECT size, sha256, expires, file, offset, blocks, body FROM blobs
      WHERE key = ? AND (expires IS NULL OR expires > ?)`;
    return db.patiently(() => {
      const found = db.sql<Row>(sql).get(key, env.now());
      if (!found) return undefined;
      const row = { ...found, body: wholeBody(this.#store, found) };
      const isFile = row.file !== null && row.offset === null;
      if (row.body || isFile) this.#settled.set(key, row, row.body?.length ?? row.file!.length);
      return row;
    });
  }

  /** For a body of format 1 that no sweep has read yet; null where it is not what was stored. */
  async #hashed(row: Row): Promise<Uint8Array | null> {
    const found = await measured(this.#store, row);
    return found?.sha256 === row.sha256 ? found.blocks : null;
  }

  /** Null where the file is not, or no longer, what was stored, as far as it has to be read for the first bytes. */
  async #opened(row: Row, range: ByteRange | undefined): Promise<ReadableStream<Uint8Array> | null> {
    const { home, crc32 } = this.#store;
    if (range) checkRange(range, row.size);
    const blocks = row.blocks ?? (await this.#hashed(row));
    const open = blocks && BodyFile.open(join(home, row.file!));
    if (!open) return null;
    if (open.size !== row.size) {
      open.close();
      return null;
    }
    return open.stream(
      range ?? { start: 0, end: row.size },
      (piece, at) => isIntact(piece, blocks, at, crc32),
      row.file!,
    );
  }
}

/** A file that people can read they can edit, too. */
function damaged(name: string, fault: BodyFault): RelayError {
  if (!isPlaced(name) || fault === 'missing') return damagedBody(name, fault);
  const hint =
    'It counts as it was stored. Put it back so, or store the changed one anew: relay artifact put';
  return damagedBody(name, fault, hint);
}

function inlined(body: Uint8Array, range: ByteRange | undefined) {
  const size = body.length;
  if (!range) return { body, size };
  checkRange(range, size);
  return { body: body.subarray(range.start, range.end), size };
}
