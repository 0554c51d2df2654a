import fs, { closeSync, existsSync, fdatasync, openSync, readSync, writev } from 'node:fs';
import { join } from 'node:path';
import type { Env } from '../../base/env.ts';
import { toHex } from '../../base/ids.ts';
import { BODIES } from './body-files.ts';
import type { Store } from './commit-queue.ts';
import { fsyncFolderSync, makeFolder, promised } from './fsync.ts';
import { queueForWipe } from './secure-delete.ts';
import { isFull } from './translate-error.ts';

/** Folder for segments, relative to the home. */
export const SEGMENTS = `${BODIES}/segments`;

/** Number of bytes at which a segment is closed. */
const SEGMENT_BYTES = 64 * 1024 * 1024;
/**
 * Age in ms at which a segment is closed. Bodies of one age often expire together, so most segments can be deleted as
 * a whole.
 */
const SEGMENT_MS = 10 * 60_000;

/**
 * Maximum number of bodies in one batch. It is limited so that the first body does not wait long for its fdatasync.
 */
const BATCH_BODIES = 128;
/** Maximum number of bytes in one batch. */
const BATCH_BYTES = 8 * 1024 * 1024;

/** Position of a body in a segment. `file` is relative to the home. */
export interface BodyLocation {
  readonly file: string;
  readonly offset: number;
}

interface PendingBody {
  readonly pieces: readonly Uint8Array[];
  readonly size: number;
  readonly resolve: (location: BodyLocation) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Appends many bodies to each file. Only this process appends to its segments. Waiting bodies are written together
 * and share one fdatasync. Rows define which bytes are in use, so unused bytes after a crash are harmless, and
 * segments are never truncated. A segment is deleted in a transaction that finds no row with its name. A commit that
 * refers to a segment checks, under the lock of its transaction, that the segment still exists.
 */
export class Segments {
  readonly #expiring: SegmentWriter;
  readonly #lasting: SegmentWriter;

  constructor(home: string, env: Env, durable: boolean) {
    this.#expiring = new SegmentWriter(home, env, durable);
    this.#lasting = new SegmentWriter(home, env, durable);
  }

  /** Appends a body and resolves when it is on disk. Bodies with and without expiry go into different segments. */
  append(pieces: readonly Uint8Array[], expires: number | null): Promise<BodyLocation> {
    return (expires === null ? this.#lasting : this.#expiring).append(pieces);
  }

  /** True if no append is running. */
  get isIdle(): boolean {
    return this.#lasting.isIdle && this.#expiring.isIdle;
  }

  /** Returns whether this process may still append to the segment. */
  appendsTo(file: string): boolean {
    return this.#lasting.appendsTo(file) || this.#expiring.appendsTo(file);
  }
}

class SegmentWriter {
  readonly #home: string;
  readonly #env: Env;
  readonly #durable: boolean;
  readonly #waiting: PendingBody[] = [];
  #flushing: Promise<void> | undefined;
  #file = '';
  #began = 0;
  /** Offset of the end of the acknowledged bytes. After a failed write, the file may be longer. */
  #end = 0;

  constructor(home: string, env: Env, durable: boolean) {
    this.#home = home;
    this.#env = env;
    this.#durable = durable;
  }

  get isIdle(): boolean {
    return this.#flushing === undefined;
  }

  append(pieces: readonly Uint8Array[]): Promise<BodyLocation> {
    return new Promise((resolve, reject) => {
      const size = pieces.reduce((sum, piece) => sum + piece.length, 0);
      this.#waiting.push({ pieces, size, resolve, reject });
      this.#flushing ??= this.#flush();
    });
  }

  appendsTo(file: string): boolean {
    const age = this.#env.now() - this.#began;
    return this.#file === file && this.#end < SEGMENT_BYTES && age >= 0 && age < SEGMENT_MS;
  }

  async #flush(): Promise<void> {
    while (this.#waiting.length > 0) {
      await new Promise(setImmediate);
      const batch = this.#batch();
      try {
        const start = await this.#write(batch);
        let offset = start;
        for (const { size, resolve } of batch) {
          resolve({ file: this.#file, offset });
          offset += size;
        }
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#flushing = undefined;
  }

  #batch(): PendingBody[] {
    let count = 0;
    for (let bytes = 0; count < this.#waiting.length && count < BATCH_BODIES; count++) {
      bytes += this.#waiting[count]!.size;
      if (count > 0 && bytes > BATCH_BYTES) break;
    }
    return this.#waiting.splice(0, count);
  }

  /**
   * Writes and syncs a batch and returns its offset. The file is open only during the write, so that deleting a
   * segment frees its space at once.
   */
  async #write(batch: readonly PendingBody[]): Promise<number> {
    const fd = this.#open();
    try {
      const start = this.#end;
      const end = await writeAll(
        fd,
        batch.flatMap(({ pieces }) => pieces),
        start,
      );
      if (this.#durable) await promised((done) => fdatasync(fd, done));
      this.#end = end;
      return start;
    } finally {
      closeSync(fd);
    }
  }

  #open(): number {
    if (this.appendsTo(this.#file)) {
      try {
        return openSync(join(this.#home, this.#file), 'r+');
      } catch (error) {
        // If a sweep has deleted the segment, begin a new one.
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      }
    }
    const folder = join(this.#home, SEGMENTS);
    makeFolder(folder, this.#durable);
    const file = `${SEGMENTS}/${toHex(this.#env.randomBytes(16))}`;
    const fd = openSync(join(this.#home, file), 'wx', 0o600);
    if (this.#durable) fsyncFolderSync(folder);
    this.#file = file;
    this.#began = this.#env.now();
    this.#end = 0;
    return fd;
  }
}

/**
 * Writes all pieces and returns the end offset. On an almost full disk, one call may write only some of the bytes.
 */
async function writeAll(fd: number, pieces: readonly Uint8Array[], start: number): Promise<number> {
  let at = start;
  for (let left = pieces; left.length > 0; ) {
    let written = await promised<number>((done) => writev(fd, left, at, done));
    at += written;
    const next = left.findIndex((piece) => {
      if (written < piece.length) return true;
      written -= piece.length;
      return false;
    });
    left = next < 0 ? [] : [left[next]!.subarray(written), ...left.slice(next + 1)];
  }
  return at;
}

/** Returns whether the file of a row is a segment. */
export function isSegment(file: string): boolean {
  return file.startsWith(`${SEGMENTS}/`);
}

/** Reads a whole body from a segment. Returns null if the segment is missing or too short. */
export function readFromSegment(
  home: string,
  { file, offset }: BodyLocation,
  size: number,
): Uint8Array | null {
  const path = join(home, file);
  if (!existsSync(path)) return null;
  const fd = openSync(path, 'r');
  try {
    const body = new Uint8Array(Buffer.allocUnsafeSlow(size).buffer);
    for (let at = 0; at < size; ) {
      const count = readSync(fd, body, at, size - at, offset + at);
      if (count === 0) return null;
      at += count;
    }
    return body;
  } finally {
    closeSync(fd);
  }
}

/** Number of bodies that are moved at once. They share one fdatasync. */
const MOVE_BATCH = 16;

interface MovedBody extends BodyLocation {
  readonly id: number;
  readonly size: number;
  readonly expires: number | null;
}

/**
 * Moves the remaining bodies out of segments that are less than half in use, so that the segments can be deleted.
 * Stops on a full disk. Returns the segments to try again later.
 */
export async function compact(
  store: Store,
  segments: Segments,
  files: Iterable<string>,
): Promise<Set<string>> {
  const { db, home } = store;
  const left = new Set(files);
  const used = 'SELECT coalesce(sum(size), 0) AS bytes FROM blobs WHERE file = ?';
  const sql = 'SELECT id, file, offset, size, expires FROM blobs WHERE file = ? ORDER BY offset';
  for (const file of left) {
    const stat = await fs.promises.stat(join(home, file)).catch(() => null);
    if (stat && segments.appendsTo(file)) continue;
    left.delete(file);
    if (!stat) continue;
    const { bytes } = await db.retryWhileBusy(() => db.sql<{ bytes: number }>(used).get(file)!);
    if (bytes * 2 > stat.size) continue;
    const rows = await db.retryWhileBusy(() => db.sql<MovedBody>(sql).all(file));
    try {
      for (let at = 0; at < rows.length; at += MOVE_BATCH) {
        await Promise.all(rows.slice(at, at + MOVE_BATCH).map((row) => move(store, segments, row)));
      }
    } catch (error) {
      if (isFull(error, db.path)) return left.add(file);
      throw error;
    }
  }
  return left;
}

/** Returns the paths of all segments, relative to the home. */
export async function allSegments(home: string): Promise<string[]> {
  const names = await fs.promises.readdir(join(home, SEGMENTS)).catch(() => []);
  return names.map((name) => `${SEGMENTS}/${name}`);
}

/**
 * Copies a body to another segment and updates its row. If the row changed meanwhile, leaves it unchanged and wipes
 * the copy. Readers use the old location until the row has the new one. An unreadable body stays where it is.
 */
async function move({ db, queue, home }: Store, segments: Segments, row: MovedBody): Promise<void> {
  const body = readFromSegment(home, row, row.size);
  if (!body) return;
  const location = await segments.append([body], row.expires);
  const sql = 'UPDATE blobs SET file = ?, offset = ? WHERE id = ? AND file = ? AND offset = ?';
  await queue.run(() => {
    if (!existsSync(join(home, location.file))) return;
    const { changes } = db.sql(sql).run(location.file, location.offset, row.id, row.file, row.offset);
    if (changes === 0) queueForWipe({ db }, { ...location, size: row.size });
  });
}
