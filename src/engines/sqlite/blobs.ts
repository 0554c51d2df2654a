import { join } from 'node:path';
import { RelayError } from '../../base/errors.ts';
import { INLINE_BLOB_BYTES } from '../../base/limits.ts';
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
import { BlockHashes } from '../../kernel/block-hashes.ts';
import { BodyFiles, checkedPlace, type Draft, isPlaced, type WrittenBody } from './body-files.ts';
import { BodyFile } from './body-stream.ts';
import { translated } from './failure.ts';
import { keyRange } from './names.ts';
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

/** A body is in its row or in a file, relative to the home. */
interface Row {
  readonly size: number;
  readonly expires: number | null;
  readonly file: string | null;
  readonly body: Uint8Array | null;
}

export class SqliteBlobs implements Blobs {
  readonly #store: Store;
  readonly #files: BodyFiles;
  readonly #place: Place | undefined;
  readonly #settled: SettledReads<Row>;

  constructor(store: Store, place: Place | undefined) {
    this.#store = store;
    this.#files = new BodyFiles(store.home, store.env, store.limits.durability === 'power');
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
    if (body instanceof Uint8Array && place === undefined && body.length <= INLINE_BLOB_BYTES) {
      return this.#putInline(key, new Uint8Array(body), o.expiresAt);
    }
    const pieces = intake(body, admission);
    const head: Uint8Array[] = [];
    if (place === undefined) {
      for (let length = 0; length <= INLINE_BLOB_BYTES; ) {
        const { done, value } = await pieces.next();
        if (done) return this.#putInline(key, Buffer.concat(head), o.expiresAt);
        head.push(value);
        length += value.length;
      }
    }
    return this.#putFile(key, head, pieces, place, o.expiresAt);
  }

  async get(key: string, range?: ByteRange): Promise<{ body: BlobBody; size: number } | null> {
    checkKey('a key', key);
    for (let round = 0; ; round++) {
      // What did not fit the first time is never looked for by memory again.
      const row = (round === 0 ? this.#known(key) : undefined) ?? (await this.#row(key));
      if (!row) return null;
      if (row.file === null) return inlined(row.body!, range);
      const open = BodyFile.open(join(this.#files.home, row.file));
      if (open) return streamed(open, row, range);
      // Replaced or deleted between the two looks; if it is still the same, the file is really gone.
      if (round > 0 && (await this.#row(key))?.file === row.file) {
        throw new RelayError('store_damaged', {
          path: this.#store.db.path,
          what: `the body ${row.file} is missing`,
        });
      }
    }
  }

  async delete(key: string): Promise<void> {
    checkKey('a key', key);
    const found = await this.#store.db.patiently(() =>
      this.#store.db.sql('SELECT 1 FROM blobs WHERE key = ?').get(key),
    );
    if (!found) return;
    const file = await this.#store.queue.free(() => {
      const sql = 'DELETE FROM blobs WHERE key = ? RETURNING file';
      return this.#store.db.sql<Pick<Row, 'file'>>(sql).get(key)?.file;
    });
    if (file) await this.removeBody(file);
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
   * Removes a body that no row refers to any more. Another process may be putting a new one at the same chosen
   * place, so there it is done under the lock, and only if no row has come to refer to it. It is too late to fail.
   */
  async removeBody(file: string): Promise<void> {
    if (!isPlaced(file)) return this.#files.remove(file);
    const removed = this.#store.queue.free(() => {
      const used = this.#store.db.sql('SELECT 1 FROM blobs WHERE file = ?').get(file);
      if (!used) this.#files.removeNow(file);
    });
    await removed.catch(() => {});
  }

  #putInline(key: string, body: Uint8Array, expiresAt: Expiry | undefined): Promise<BlobInfo> {
    const sha256 = process.getBuiltinModule('node:crypto').hash('sha256', body, 'hex');
    const blocks = new BlockHashes(this.#store.crc32).update(body).digest();
    return this.#commit(key, { size: body.length, sha256, blocks, file: null, body }, expiresAt);
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
      const content = { ...draft, file: place ?? draft.file, body: null };
      const info = await this.#commit(key, content, expiresAt, placed ? draft : undefined);
      kept = !placed;
      return info;
    } finally {
      if (!kept) await this.#files.discard(draft);
    }
  }

  /** `draft`: what is to be placed at the content's file. */
  async #commit(
    key: string,
    { size, sha256, blocks, file, body }: WrittenBody & Pick<Row, 'file' | 'body'>,
    expiresAt: Expiry | undefined,
    draft?: Draft,
  ): Promise<BlobInfo> {
    const sql = `INSERT INTO blobs (key, size, sha256, blocks, at, expires, file, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (key) DO UPDATE SET size = excluded.size, sha256 = excluded.sha256, blocks = excluded.blocks,
      at = excluded.at, expires = excluded.expires, file = excluded.file, body = excluded.body`;
    const expires = typeof expiresAt === 'function' ? await settleExpiry(expiresAt) : expiresAt;
    const before = await this.#store.queue.run((tx) => {
      const old = this.#store.db.sql<Pick<Row, 'file'>>('SELECT file FROM blobs WHERE key = ?').get(key);
      const at = this.#store.env.now();
      this.#store.db.sql(sql).run(key, size, sha256, blocks, at, expires ?? null, file, body);
      if (draft) this.#files.placeNow(draft, file!, tx);
      else if (file !== null) this.#files.checkNow(file);
      return old?.file;
    }, body?.length);
    if (before && before !== file) await this.removeBody(before);
    return { size, sha256 };
  }

  #known(key: string): Row | undefined {
    const row = this.#settled.get(key);
    return row && (row.expires === null || row.expires > this.#store.env.now()) ? row : undefined;
  }

  #row(key: string): Promise<Row | undefined> {
    const sql =
      'SELECT size, expires, file, body FROM blobs WHERE key = ? AND (expires IS NULL OR expires > ?)';
    return this.#store.db.patiently(() => {
      const row = this.#store.db.sql<Row>(sql).get(key, this.#store.env.now());
      if (row) this.#settled.set(key, row, (row.body ?? row.file!).length);
      return row;
    });
  }
}

function inlined(body: Uint8Array, range: ByteRange | undefined) {
  const size = body.length;
  if (!range) return { body, size };
  checkRange(range, size);
  return { body: body.subarray(range.start, range.end), size };
}

/** At a chosen place the file itself is the truth: it may have been replaced a moment before its row. */
function streamed(open: BodyFile, row: Row, range: ByteRange | undefined) {
  const size = isPlaced(row.file!) ? open.size : row.size;
  try {
    if (range) checkRange(range, size);
  } catch (error) {
    open.close();
    throw error;
  }
  return { body: open.stream(range?.start ?? 0, range?.end ?? size), size };
}
