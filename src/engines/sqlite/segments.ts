import { closeSync, existsSync, fdatasync, openSync, promises, readSync, writev } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Env } from '../../base/env.ts';
import { toHex } from '../../base/ids.ts';
import { BODIES } from './body-files.ts';
import type { Store } from './commit-queue.ts';
import { fsyncFolderSync, makeFolder } from './fsync.ts';
import { queueForWipe } from './secure-delete.ts';
import { isFull } from './translate-error.ts';

export const SEGMENTS = `${BODIES}/segments`;

/** A segment takes bodies up to this and for as long as this; most of them then go whole when the bodies expire. */
const SEGMENT_BYTES = 64 * 1024 * 1024;
const SEGMENT_MS = 10 * 60_000;

/** What one fdatasync is for at most: who came first should not wait for all the others. */
const BATCH_BODIES = 128;
const BATCH_BYTES = 8 * 1024 * 1024;

/** Where in the store a body is: in a file, relative to the home, from a byte on. */
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
 * Bodies behind one another in files that this process alone appends to. What waits is written together and made to
 * last with one fdatasync. Only rows say what of a segment counts, so a tail that a crash has torn, or that no row came
 * to name, is harmless; nobody cuts a segment. It is removed as a whole, under the lock of a transaction in which no row
 * names it: whoever commits a row looks, under the same lock, whether its segment is still there.
 */
export class Segments {
  readonly #expiring: SegmentWriter;
  readonly #lasting: SegmentWriter;

  constructor(home: string, env: Env, durable: boolean) {
    this.#expiring = new SegmentWriter(home, env, durable);
    this.#lasting = new SegmentWriter(home, env, durable);
  }

  /** Resolves when the body is on disk. What expires never shares a segment with what does not. */
  append(pieces: readonly Uint8Array[], expires: number | null): Promise<BodyLocation> {
    return (expires === null ? this.#lasting : this.#expiring).append(pieces);
  }

  /** Whether nothing is being appended. */
  get isIdle(): boolean {
    return this.#lasting.isIdle && this.#expiring.isIdle;
  }

  /** Whether more may come to be in it. */
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
  /** Where what was acknowledged ends, whatever the file has behind it. */
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

  /** Where the group begins. The file is open only meanwhile: once it is removed, nothing keeps its space. */
  async #write(batch: readonly PendingBody[]): Promise<number> {
    const fd = this.#open();
    try {
      const start = this.#end;
      const end = await writeAll(
        fd,
        batch.flatMap(({ pieces }) => pieces),
        start,
      );
      if (this.#durable) await fdatasyncAsync(fd);
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
        // A sweep took it.
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

const fdatasyncAsync = promisify(fdatasync);

/** Where they end. A file system that is almost full may take only some of them at a time. */
async function writeAll(fd: number, pieces: readonly Uint8Array[], start: number): Promise<number> {
  let at = start;
  for (let left = pieces; left.length > 0; ) {
    let written = await writevAsync(fd, left, at);
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

function writevAsync(fd: number, pieces: readonly Uint8Array[], position: number): Promise<number> {
  return new Promise((resolve, reject) => {
    writev(fd, pieces, position, (error, written) => (error ? reject(error) : resolve(written)));
  });
}

export function isSegment(file: string): boolean {
  return file.startsWith(`${SEGMENTS}/`);
}

/** All of a body, at once; null where the segment is gone or ends before it. */
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

/** Bodies that are moved together: they share a wait for the disk. */
const MOVE_BATCH = 16;

interface MovedBody extends BodyLocation {
  readonly id: number;
  readonly size: number;
  readonly expires: number | null;
}

/**
 * Moves what is left of those of these segments of which less than half still counts, so that they can go. A full disk ends
 * it; then it waits for room that others give back. Gives the segments to look at again.
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
    const stat = await promises.stat(join(home, file)).catch(() => null);
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

export async function allSegments(home: string): Promise<string[]> {
  const names = await promises.readdir(join(home, SEGMENTS)).catch(() => []);
  return names.map((name) => `${SEGMENTS}/${name}`);
}

/**
 * Only if the row still says what it said when the body was read: whoever deletes, replaces or moves the body meanwhile
 * has it their way. Readers find the old place until the row names the new one. What cannot be read stays where it is.
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
