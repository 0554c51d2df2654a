import fs, { existsSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { isRelayError, type RelayError } from '../../base/errors.ts';
import { pause } from '../../base/pause.ts';
import type { ByteRange } from '../../kernel/blobs.ts';
import {
  alignToBlocks,
  BLOCK_BYTES,
  type BodyFault,
  checkedBody,
  damagedBodyError,
  isIntact,
} from '../../kernel/block-hashes.ts';
import { checkRange } from '../../kernel/validate-input.ts';
import { BodyHashes, crc32, type HashedBody, sha256 } from '../body-hashes.ts';
import { isPlaced } from './body-files.ts';
import type { Store } from './commit-queue.ts';
import type { DeletedBody } from './secure-delete.ts';
import { readFromSegment } from './segments.ts';

/** Number of bytes that are read from a file at once. */
const CHUNK_BYTES = 4 * BLOCK_BYTES;

/** A row of the table `blobs`. */
export interface StoredBody extends DeletedBody {
  readonly sha256: string;
  /** Block checksums. Null for a body of format 1 that no sweep has hashed yet. */
  readonly blocks: Uint8Array | null;
  /** Bytes of the body. Null if the row does not contain them. */
  readonly body: Uint8Array | null;
}

type StoreHome = Pick<Store, 'home'>;

/** Closes the file of a stream that was garbage-collected before it was read to its end. */
const abandonedFiles = new FinalizationRegistry<FileHandle>((file) => void file.close());

/**
 * Opens the file of a body. Returns null if the file does not exist. An open file stays readable even if it is
 * deleted or replaced.
 */
export async function openBody(path: string): Promise<{ file: FileHandle; size: number } | null> {
  try {
    const file = await fs.promises.open(path, 'r');
    return { file, size: (await file.stat()).size };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/**
 * Streams the bytes of a range. Ends early if the file is shorter or the disk cannot read it. Closes the file at the
 * end, or when the stream is cancelled.
 */
export function streamBody(file: FileHandle, { start, end }: ByteRange): ReadableStream<Uint8Array> {
  let at = start;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const buffer = Buffer.allocUnsafeSlow(Math.min(CHUNK_BYTES, end - at));
        // Treat a read error as the end of the file: the caller then reports the body as damaged.
        const { bytesRead } = await file.read(buffer, 0, buffer.length, at).catch(() => ({ bytesRead: 0 }));
        at += bytesRead;
        if (bytesRead > 0) return controller.enqueue(buffer.subarray(0, bytesRead));
        controller.close();
        await file.close();
      },
      cancel: () => file.close(),
    },
    { highWaterMark: 0 },
  );
}

/** Reads and verifies a body in a row or segment. Returns null if the body has its own file or is damaged. */
export function readVerifiedBody({ home }: StoreHome, row: StoredBody): Uint8Array | null {
  const body = readInlineBody(home, row);
  if (body?.length !== row.size) return null;
  const intact = row.blocks ? isIntact(body, row.blocks, 0, crc32) : sha256(body) === row.sha256;
  return intact ? body : null;
}

/** Reads and hashes the whole body. Returns how it is damaged, or null if it is intact. */
export async function findFault(store: StoreHome, row: StoredBody): Promise<BodyFault | null> {
  const found = await hashBody(store, row);
  if (!found) return row.file !== null && existsSync(join(store.home, row.file)) ? 'cut' : 'missing';
  if (found.size < row.size) return 'cut';
  const blocksMatch = row.blocks === null || Buffer.compare(found.blocks, row.blocks) === 0;
  return blocksMatch && found.sha256 === row.sha256 ? null : 'altered';
}

/**
 * Computes the hashes of the bytes that exist, without comparing them with the row. Returns null if there are no
 * bytes or the segment is too short.
 */
export async function hashBody({ home }: StoreHome, row: StoredBody): Promise<HashedBody | null> {
  const hashes = new BodyHashes();
  if (row.file === null || row.offset !== null) {
    const body = readInlineBody(home, row);
    return body && hashes.update(body).digest();
  }
  const open = await openBody(join(home, row.file));
  if (!open) return null;
  for await (const piece of streamBody(open.file, { start: 0, end: open.size })) hashes.update(piece);
  return hashes.digest();
}

function readInlineBody(home: string, { file, offset, size, body }: StoredBody): Uint8Array | null {
  if (file === null) return body;
  return offset === null ? null : readFromSegment(home, { file, offset }, size);
}

/**
 * Opens the file of a body as a verified stream. Returns null if the file is missing, has the wrong size, or is
 * damaged in its first blocks.
 */
export async function openVerifiedBody(
  store: StoreHome,
  row: StoredBody,
  range: ByteRange = { start: 0, end: row.size },
): Promise<ReadableStream<Uint8Array> | null> {
  checkRange(range, row.size);
  const hashes = row.blocks ?? (await computeBlockHashes(store, row));
  const open = hashes && (await openBody(join(store.home, row.file!)));
  if (!open) return null;
  const { file, size } = open;
  try {
    if (size !== row.size) throw damagedBodyError(row.file!, 'cut');
    const source = streamBody(file, alignToBlocks(range, size));
    const body = await checkedBody(source, range, { key: row.file!, size, hashes, crc32 });
    abandonedFiles.register(body, file);
    return body;
  } catch (error) {
    await file.close();
    if (isRelayError(error, 'store_damaged')) return null;
    throw error;
  }
}

/** Computes the block checksums of a body of format 1. Returns null if the body does not match its SHA-256. */
async function computeBlockHashes(store: StoreHome, row: StoredBody): Promise<Uint8Array | null> {
  const found = await hashBody(store, row);
  return found?.sha256 === row.sha256 ? found.blocks : null;
}

/** Returns the error for a damaged body. Files that people can edit have their own hint. */
export async function describeDamage(store: StoreHome, key: string, row: StoredBody): Promise<RelayError> {
  const name = row.file ?? key;
  const fault = (await findFault(store, row)) ?? 'altered';
  if (!isPlaced(name) || fault === 'missing') return damagedBodyError(name, fault);
  const hint =
    'The file was changed by hand. Undo the change, or store the changed file with relay artifact put.';
  return damagedBodyError(name, fault, hint);
}

/**
 * Pause in ms before a body that looks damaged is checked again, because it may have been replaced during the check.
 */
const RECHECK_MS = 100;

/** Result of verifying one body. */
export interface CheckedBody {
  readonly key: string;
  /** Path of the file, relative to the home. Null if the body is in the database. */
  readonly file: string | null;
  readonly size: number;
  readonly fault: BodyFault | null;
}

interface Row extends StoredBody {
  readonly id: number;
  readonly key: string;
}

/**
 * Reads and verifies all bodies in row order, starting after the row with id `after`. Other processes can
 * write meanwhile.
 */
export async function* checkBodies(store: Store, after = 0): AsyncGenerator<CheckedBody & { id: number }> {
  const { db, env } = store;
  const sql = `SELECT id, key, size, sha256, file, offset, blocks, body FROM blobs
    WHERE id > ? AND (expires IS NULL OR expires > ?) ORDER BY id LIMIT 1`;
  const isUnchangedSql = 'SELECT 1 FROM blobs WHERE id = ? AND sha256 = ? AND file IS ? AND offset IS ?';
  for (let from = after; ; ) {
    const row = await db.retryWhileBusy(() => db.sql<Row>(sql).get(from, env.now()));
    if (!row) return;
    const { id, key, size, sha256, file, offset } = row;
    let fault = await findFault(store, row);
    if (fault) {
      await pause(RECHECK_MS);
      // If the row changed, the body was moved, replaced or deleted during the check. Then read the row again.
      if (!(await db.retryWhileBusy(() => db.sql(isUnchangedSql).get(id, sha256, file, offset)))) continue;
      fault = await findFault(store, row);
    }
    from = id;
    yield { id, key, size, file, fault };
  }
}

/** Time in ms between two steps of the background verification of a server. */
const SCRUB_EVERY_MS = 5_000;
/** Number of bytes that one step verifies: less than 1 MB/s, which does not slow down other work. */
const SCRUB_BYTES = 4 * 1024 * 1024;

/** Progress of a server's background verification. */
export interface ScrubState {
  /** Number of bodies read since the server started. */
  readonly bodies: number;
  /** Number of bytes read since the server started. */
  readonly bytes: number;
  /** Number of complete passes over all bodies. */
  readonly rounds: number;
  /** Number of bodies that were damaged when they were last read. */
  readonly damaged: number;
}

/** Verifies all bodies slowly, again and again, so that damage is found before a user needs the data. */
export class Scrub {
  readonly #store: Store;
  readonly #timer: NodeJS.Timeout;
  readonly #damaged = new Set<number>();
  #reading: Promise<void> | undefined;
  #after: number;
  #closed = false;
  #bodies = 0;
  #bytes = 0;
  #rounds = 0;

  constructor(store: Store) {
    this.#store = store;
    // Start at a random row. Otherwise a server that restarts every day would never reach the end of a large store.
    this.#after = Math.floor((store.env.randomBytes(1)[0]! / 256) * this.#last());
    this.#timer = setInterval(() => void this.step(), SCRUB_EVERY_MS).unref();
  }

  get state(): ScrubState {
    return { bodies: this.#bodies, bytes: this.#bytes, rounds: this.#rounds, damaged: this.#damaged.size };
  }

  /** Verifies the next few megabytes. Never throws: other operations report a store that cannot be read. */
  step(): Promise<void> {
    this.#reading ??= this.#read()
      .catch(() => {})
      .finally(() => {
        this.#reading = undefined;
      });
    return this.#reading;
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    await this.#reading;
  }

  async #read(): Promise<void> {
    const before = this.#bytes;
    for await (const { id, size, fault } of checkBodies(this.#store, this.#after)) {
      // The rows between the last id and this id were deleted, so their damage no longer counts.
      for (const other of this.#damaged) if (other > this.#after && other < id) this.#damaged.delete(other);
      this.#after = id;
      this.#bodies++;
      this.#bytes += size;
      if (fault) this.#damaged.add(id);
      else this.#damaged.delete(id);
      if (this.#closed || this.#bytes - before >= SCRUB_BYTES) return;
      // Reads from the page cache never wait, so yield here to let other work run.
      await new Promise(setImmediate);
    }
    for (const other of this.#damaged) if (other > this.#after) this.#damaged.delete(other);
    this.#after = 0;
    this.#rounds++;
  }

  #last(): number {
    return this.#store.db.sql<{ last: number | null }>('SELECT max(id) AS last FROM blobs').get()?.last ?? 0;
  }
}
