import {
  closeSync,
  existsSync,
  fdatasync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  unlink,
  writev,
} from 'node:fs';
import { dirname, isAbsolute, join, normalize, sep } from 'node:path';
import { promisify } from 'node:util';
import type { Env } from '../../base/env.ts';
import { RelayError } from '../../base/errors.ts';
import { toHex } from '../../base/ids.ts';
import type { Transaction } from './commit-queue.ts';
import { FolderSync } from './folder-sync.ts';

export const BODIES = 'blobs';
/** Where bodies grow that are placed later. Nothing in here is ever read; what is old was left behind. */
export const DRAFTS = `${BODIES}/draft`;

/** Pieces are gathered to this before they are written: one trip to the thread pool instead of many. */
const WRITE_BYTES = 256 * 1024;

/** Bodies that go into one folder before the next is taken. */
const FOLDER_FILES = 512;

const dataSync = promisify(fdatasync);
const writeVectors = promisify(writev);

/** A body that is whole and on disk; no row refers to it yet. */
export interface Draft {
  /** Relative to the home. */
  readonly file: string;
  readonly size: number;
  readonly sha256: string;
}

/** The bodies that are too large for the database, each a file of its own that is written once. */
export class BodyFiles {
  readonly home: string;
  readonly #env: Env;
  readonly #durable: boolean;
  readonly #folders: FolderSync;
  #folder = '';
  #room = 0;

  constructor(home: string, env: Env, durable: boolean) {
    this.home = home;
    this.#env = env;
    this.#durable = durable;
    this.#folders = new FolderSync(durable);
  }

  /**
   * Writes the pieces that were read ahead and those still to come into a file with a name that nothing else ever
   * has, and makes it last. Whatever fails, nothing stays behind. One that is to be placed waits among the drafts.
   */
  async write(head: readonly Uint8Array[], rest: AsyncIterable<Uint8Array>, placed: boolean): Promise<Draft> {
    const file = `${placed ? this.#drafts() : this.#nextFolder()}/${toHex(this.#env.randomBytes(16))}`;
    const path = join(this.home, file);
    const fd = openSync(path, 'wx', 0o600);
    try {
      const { size, sha256 } = await written(fd, head, rest);
      if (this.#durable) {
        // Both at once: the file system then makes one trip to the disk of them.
        const named = placed ? undefined : this.#folders.sync(dirname(path));
        named?.catch(() => {});
        await dataSync(fd);
        await named;
      }
      closeSync(fd);
      return { file, size, sha256 };
    } catch (error) {
      closeSync(fd);
      this.removeNow(file);
      throw error;
    }
  }

  /**
   * Moves the draft to the place the caller chose, over what may be there, and makes it last. Inside a transaction,
   * since its lock is what keeps others from the same place; undone with it.
   */
  placeNow(draft: Draft, place: string, tx: Transaction): void {
    const from = join(this.home, draft.file);
    const to = join(this.home, place);
    const before = `${from}.before`;
    this.#folders.ensure(dirname(to));
    rmSync(before, { force: true });
    const replaces = linked(to, before);
    renameSync(from, to);
    tx.undo(() => {
      renameSync(to, from);
      if (replaces) renameSync(before, to);
    });
    this.#folders.syncNow(dirname(to));
  }

  /** What is left of a draft when it was placed, or was not. */
  async discard(draft: Draft): Promise<void> {
    await this.remove(draft.file);
    await this.remove(`${draft.file}.before`);
  }

  /**
   * Readers that have it open go on. What cannot be removed is left to a sweep: it is no longer referred to, so it is
   * in nobody's way.
   */
  remove(file: string): Promise<void> {
    return new Promise((resolve) => unlink(join(this.home, file), () => resolve()));
  }

  removeNow(file: string): void {
    rmSync(join(this.home, file), { force: true });
  }

  #drafts(): string {
    this.#folders.ensure(join(this.home, DRAFTS));
    return DRAFTS;
  }

  /** The same for a while, since those written at once share its fsync. */
  #nextFolder(): string {
    if (this.#room-- > 0 && existsSync(join(this.home, this.#folder))) return this.#folder;
    this.#folder = `${BODIES}/${toHex(this.#env.randomBytes(1))}`;
    this.#room = FOLDER_FILES - 1;
    this.#folders.ensure(join(this.home, this.#folder));
    return this.#folder;
  }
}

/** Whether the row's file is at a place the caller chose, where a later body may take its place. */
export function isPlaced(file: string): boolean {
  return !file.startsWith(`${BODIES}/`);
}

/** A place the caller chose, checked: inside the home, and not where the engine keeps its own. */
export function checkedPlace(place: string): string {
  const clean = normalize(place).split(sep).join('/');
  const first = clean.split('/')[0]!;
  const own = first === BODIES || first === '..' || first === '.' || first === '' || !clean.includes('/');
  if (own || isAbsolute(place) || clean.endsWith('/') || clean.includes('\0')) {
    throw new RelayError('bad_request', { what: `a body cannot be kept at ${JSON.stringify(place)}` });
  }
  return clean;
}

/** A path out of a row that somebody else may have written, checked: one of ours, or a place. */
export function checkedFile(file: string): string {
  return /^blobs\/[0-9a-f]{2}\/[0-9a-f]{32}$/.test(file) ? file : checkedPlace(file);
}

function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

async function written(
  fd: number,
  head: readonly Uint8Array[],
  rest: AsyncIterable<Uint8Array>,
): Promise<{ size: number; sha256: string }> {
  const hash = process.getBuiltinModule('node:crypto').createHash('sha256');
  let size = 0;
  let gathered: Uint8Array[] = [];
  let bytes = 0;
  const flush = async () => {
    for (let left = gathered; left.length > 0; ) {
      const { bytesWritten } = await writeVectors(fd, left);
      left = behind(left, bytesWritten);
    }
    gathered = [];
    bytes = 0;
  };
  const take = async (piece: Uint8Array) => {
    hash.update(piece);
    size += piece.length;
    gathered.push(piece);
    bytes += piece.length;
    if (bytes >= WRITE_BYTES) await flush();
  };
  for (const piece of head) await take(piece);
  for await (const piece of rest) await take(piece);
  await flush();
  return { size, sha256: hash.digest('hex') };
}

/** What is left of the pieces behind the first `count` bytes. */
function behind(pieces: readonly Uint8Array[], count: number): Uint8Array[] {
  const left: Uint8Array[] = [];
  for (const piece of pieces) {
    if (count < piece.length) left.push(count > 0 ? piece.subarray(count) : piece);
    count = Math.max(0, count - piece.length);
  }
  return left;
}
