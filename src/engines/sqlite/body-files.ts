import { linkSync, promises, renameSync, rmSync } from 'node:fs';
import { dirname, isAbsolute, join, normalize, sep } from 'node:path';
import type { Env } from '../../base/env.ts';
import { RelayError } from '../../base/errors.ts';
import { toHex } from '../../base/ids.ts';
import type { Transaction } from './commit-queue.ts';
import { FolderSync } from './folder-sync.ts';

export const BODIES = 'blobs';
/** Where bodies grow. Nothing in here is ever read; what is old was left behind. */
export const DRAFTS = `${BODIES}/draft`;

/** Pieces are gathered to this before they are written: one trip to the thread pool instead of many. */
const WRITE_BYTES = 256 * 1024;

/** Bodies that go into one folder before the next is taken: those written at once share its fsync. */
const FOLDER_FILES = 512;

/** A body that is whole and on disk, and not yet at its place. */
export interface Draft {
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
}

/** The bodies that are too large for the database, each a file of its own. Paths in rows are relative to the home. */
export class BodyFiles {
  readonly home: string;
  readonly #env: Env;
  readonly #durable: boolean;
  readonly #folders: FolderSync;
  #folder = '';
  #room = 0;
  #ready = false;

  constructor(home: string, env: Env, durable: boolean) {
    this.home = home;
    this.#env = env;
    this.#durable = durable;
    this.#folders = new FolderSync(durable);
  }

  /** Writes the pieces that were read ahead and those still to come. Whatever fails, nothing stays behind. */
  async write(head: readonly Uint8Array[], rest: AsyncIterable<Uint8Array>): Promise<Draft> {
    this.#prepare();
    const path = join(this.home, DRAFTS, this.#name());
    const hash = process.getBuiltinModule('node:crypto').createHash('sha256');
    const file = await promises.open(path, 'wx', 0o600);
    let size = 0;
    let gathered: Uint8Array[] = [];
    let room = WRITE_BYTES;
    const flush = async () => {
      for (let left = gathered; left.length > 0; ) {
        const { bytesWritten } = await file.writev(left);
        left = behind(left, bytesWritten);
      }
      gathered = [];
      room = WRITE_BYTES;
    };
    const take = async (piece: Uint8Array) => {
      hash.update(piece);
      size += piece.length;
      gathered.push(piece);
      room -= piece.length;
      if (room <= 0) await flush();
    };
    try {
      for (const piece of head) await take(piece);
      for await (const piece of rest) await take(piece);
      await flush();
      if (this.#durable) await file.datasync();
      await file.close();
      return { path, size, sha256: hash.digest('hex') };
    } catch (error) {
      await file.close().catch(() => {});
      rmSync(path, { force: true });
      throw error;
    }
  }

  /** Gives the draft a name that nothing else ever has, and makes it last. */
  async settle(draft: Draft): Promise<string> {
    if (this.#room-- <= 0) this.#nextFolder();
    const file = `${this.#folder}/${this.#name()}`;
    renameSync(draft.path, join(this.home, file));
    try {
      await this.#folders.sync(join(this.home, this.#folder));
    } catch (error) {
      this.remove(file);
      throw error;
    }
    return file;
  }

  /**
   * Moves the draft to the place the caller chose, over what may be there, and makes it last. Inside a transaction,
   * since its lock is what keeps others from the same place; undone with it.
   */
  placeNow(draft: Draft, file: string, tx: Transaction): void {
    const target = join(this.home, file);
    const before = `${draft.path}.before`;
    this.#folders.ensure(dirname(target));
    rmSync(before, { force: true });
    const replaces = linked(target, before);
    renameSync(draft.path, target);
    tx.undo(() => {
      renameSync(target, draft.path);
      if (replaces) renameSync(before, target);
    });
    this.#folders.syncNow(dirname(target));
  }

  discard(draft: Draft): void {
    rmSync(draft.path, { force: true });
    rmSync(`${draft.path}.before`, { force: true });
  }

  /** Readers that have it open go on. What cannot be removed now is left to a sweep. */
  remove(file: string): void {
    try {
      rmSync(join(this.home, file), { force: true });
    } catch {
      // It is no longer referred to, so it is in nobody's way.
    }
  }

  #prepare(): void {
    if (this.#ready) return;
    this.#folders.ensure(join(this.home, DRAFTS));
    this.#ready = true;
  }

  #nextFolder(): void {
    this.#folder = `${BODIES}/${toHex(this.#env.randomBytes(1))}`;
    this.#room = FOLDER_FILES - 1;
    this.#folders.ensure(join(this.home, this.#folder));
  }

  #name(): string {
    return toHex(this.#env.randomBytes(16));
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

function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
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
