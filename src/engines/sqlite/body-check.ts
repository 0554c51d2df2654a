import { hash } from 'node:crypto';
import { existsSync, promises } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
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
import { BodyHashes, type HashedBody } from '../body-hashes.ts';
import { isPlaced } from './body-files.ts';
import type { Store } from './commit-queue.ts';
import type { DeletedBody } from './secure-delete.ts';
import { readFromSegment } from './segments.ts';

/** What is read of a file at once: some blocks. */
const CHUNK_BYTES = 4 * BLOCK_BYTES;

/** A body as its row has it. */
export interface StoredBody extends DeletedBody {
  readonly sha256: string;
  /** The hashes of its blocks; null for one of format 1 that no sweep has read yet. */
  readonly blocks: Uint8Array | null;
  /** Null for one that is not in the row. */
  readonly body: Uint8Array | null;
}

type StoreHome = Pick<Store, 'home'>;

/** Closes the file of a body that was asked for and then forgotten. */
const abandonedFiles = new FinalizationRegistry<promises.FileHandle>((file) => void file.close());

/** An open file stays readable when its name is removed or given to another. Null where there is no such file. */
export async function openBody(path: string): Promise<{ file: promises.FileHandle; size: number } | null> {
  try {
    const file = await promises.open(path, 'r');
    return { file, size: (await file.stat()).size };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/**
 * The bytes from `start` up to `end`, read as they are asked for. Ends early where the file does or where the disk cannot read it.
 * Closes the file at its end and when cancelled.
 */
export function streamBody(file: promises.FileHandle, { start, end }: ByteRange): ReadableStream<Uint8Array> {
  let at = start;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const buffer = Buffer.allocUnsafeSlow(Math.min(CHUNK_BYTES, end - at));
        // A block that cannot be read is a block that is missing.
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

/** A body that is held whole, checked; null for one in a file of its own, or that is not, or no longer, what was stored. */
export function readVerifiedBody({ home }: StoreHome, row: StoredBody): Uint8Array | null {
  const body = readInlineBody(home, row);
  if (body?.length !== row.size) return null;
  const intact = row.blocks ? isIntact(body, row.blocks, 0, crc32) : hash('sha256', body) === row.sha256;
  return intact ? body : null;
}

/** Reads all of it and says what is wrong; null where it is what was stored. */
export async function findFault(store: StoreHome, row: StoredBody): Promise<BodyFault | null> {
  const found = await hashBody(store, row);
  if (!found) return row.file !== null && existsSync(join(store.home, row.file)) ? 'cut' : 'missing';
  if (found.size < row.size) return 'cut';
  const same = row.blocks === null || Buffer.compare(found.blocks, row.blocks) === 0;
  return same && found.sha256 === row.sha256 ? null : 'altered';
}

/** What there is of a body, whatever its row says of it; null where there is nothing, or too little of a segment. */
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

/** The bytes of a file; null where it is not, or no longer, what was stored, as far as it has to be read for the first of them. */
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

/** For a body of format 1 that no sweep has read yet; null where it is not what was stored. */
async function computeBlockHashes(store: StoreHome, row: StoredBody): Promise<Uint8Array | null> {
  const found = await hashBody(store, row);
  return found?.sha256 === row.sha256 ? found.blocks : null;
}

/** What is wrong with a body, told. A file that people can read they can edit, too. */
export async function describeDamage(store: StoreHome, key: string, row: StoredBody): Promise<RelayError> {
  const name = row.file ?? key;
  const fault = (await findFault(store, row)) ?? 'altered';
  if (!isPlaced(name) || fault === 'missing') return damagedBodyError(name, fault);
  const hint =
    'It counts as it was stored. Put it back so, or store the changed one anew: relay artifact put';
  return damagedBodyError(name, fault, hint);
}

/** What looks damaged is looked at again after this: it may be being replaced. */
const RECHECK_MS = 100;

export interface CheckedBody {
  readonly key: string;
  /** Its file, relative to the home; null for one inside the database. */
  readonly file: string | null;
  readonly size: number;
  readonly fault: BodyFault | null;
}

interface Row extends StoredBody {
  readonly id: number;
  readonly key: string;
}

/** Reads every body whole, one after the other, from behind the row `after` on, while others go on writing. */
export async function* checkBodies(store: Store, after = 0): AsyncGenerator<CheckedBody & { id: number }> {
  const { db, env } = store;
  const sql = `SELECT id, key, size, sha256, file, offset, blocks, body FROM blobs
    WHERE id > ? AND (expires IS NULL OR expires > ?) ORDER BY id LIMIT 1`;
  const same = 'SELECT 1 FROM blobs WHERE id = ? AND sha256 = ? AND file IS ? AND offset IS ?';
  for (let from = after; ; ) {
    const row = await db.retryWhileBusy(() => db.sql<Row>(sql).get(from, env.now()));
    if (!row) return;
    const { id, key, size, sha256, file, offset } = row;
    let fault = await findFault(store, row);
    if (fault) {
      await pause(RECHECK_MS);
      // Moved, replaced or deleted meanwhile.
      if (!(await db.retryWhileBusy(() => db.sql(same).get(id, sha256, file, offset)))) continue;
      fault = await findFault(store, row);
    }
    from = id;
    yield { id, key, size, file, fault };
  }
}

/** A server reads so much every so often: less than a megabyte a second, which no disk feels. */
const SCRUB_EVERY_MS = 5_000;
const SCRUB_BYTES = 4 * 1024 * 1024;

/** What a server's own reading has come to. */
export interface ScrubState {
  /** Bodies and bytes read since it started. */
  readonly bodies: number;
  readonly bytes: number;
  /** How often it has been through all of them. */
  readonly rounds: number;
  /** Bodies that were damaged when they were last read. */
  readonly damaged: number;
}

/** Reads all bodies over and over, slowly, so that damage is known before somebody needs what is damaged. */
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
    // Anywhere, so that servers that live for a day only see all of a large store in the end.
    this.#after = Math.floor((store.env.randomBytes(1)[0]! / 256) * this.#last());
    this.#timer = setInterval(() => void this.step(), SCRUB_EVERY_MS).unref();
  }

  get state(): ScrubState {
    return { bodies: this.#bodies, bytes: this.#bytes, rounds: this.#rounds, damaged: this.#damaged.size };
  }

  /** Never fails: a store that cannot be read says so to whoever asks for something. */
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
      // Rows between the two are gone, and so is what was wrong with them.
      for (const other of this.#damaged) if (other > this.#after && other < id) this.#damaged.delete(other);
      this.#after = id;
      this.#bodies++;
      this.#bytes += size;
      if (fault) this.#damaged.add(id);
      else this.#damaged.delete(id);
      if (this.#closed || this.#bytes - before >= SCRUB_BYTES) return;
      // Reading from the cache of the system waits for nothing: everyone else gets a turn.
      await setImmediate();
    }
    for (const other of this.#damaged) if (other > this.#after) this.#damaged.delete(other);
    this.#after = 0;
    this.#rounds++;
  }

  #last(): number {
    return this.#store.db.sql<{ last: number | null }>('SELECT max(id) AS last FROM blobs').get()?.last ?? 0;
  }
}
