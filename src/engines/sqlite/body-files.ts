import fs, { existsSync, linkSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, join, normalize, sep } from 'node:path';
import type { Env } from '../../base/env.ts';
import { badRequest, uploadTooSlow } from '../../base/errors.ts';
import { toHex } from '../../base/ids.ts';
import { BodyHashes, type HashedBody } from '../body-hashes.ts';
import type { Store, Transaction } from './commit-queue.ts';
import { fsyncFolderSync, makeFolder, syncFolder } from './fsync.ts';

/** Folder with the bodies, relative to the home. */
export const BODIES = 'blobs';
/**
 * Folder for bodies that are moved to their final path later. No reader uses it. Old files in it were left by crashed
 * writes.
 */
export const DRAFTS = `${BODIES}/draft`;

/** Decides which bodies are stored as readable files with their own names. */
export interface Place {
  /** Prefix of the keys that may have a file. */
  readonly prefix: string;
  /** Returns the path of a key's file, relative to the home. Returns undefined if the key has no file of its own. */
  path(key: string): string | undefined;
}

/** A complete body in a file to which no row refers yet. */
export interface Draft extends HashedBody {
  /** Path relative to the home. */
  readonly file: string;
}

/** A body that is ready for its row. Its bytes are at `location`; without `location` they go into the row. */
export interface Content extends HashedBody {
  readonly expires: number | null;
  readonly location?: { readonly file: string; readonly offset: number | null };
  /** Draft file that the commit moves to `location`. */
  readonly draft?: Draft;
  /** Bytes that stay in memory until the commit. */
  readonly pieces?: readonly Uint8Array[];
}

/** Stores each large body in its own file. A file is written once and never changed. */
export class BodyFiles {
  readonly home: string;
  readonly #env: Env;
  readonly #durable: boolean;

  constructor(store: Pick<Store, 'home' | 'env'>, durable: boolean) {
    this.home = store.home;
    this.#env = store.env;
    this.#durable = durable;
  }

  /**
   * Writes `head` and then `rest` to a file with a random name, and syncs it to disk if the store is durable. If
   * anything fails, no file remains. With `placed`, the file is in the draft folder.
   */
  async write(
    head: readonly Uint8Array[],
    rest: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    placed: boolean,
  ): Promise<Draft> {
    const file = this.#newName(placed ? DRAFTS : `${BODIES}/${toHex(this.#env.randomBytes(1))}`);
    const pieces = async function* () {
      yield* head;
      yield* rest;
    };
    const info = await writeBody(join(this.home, file), pieces(), {
      fsyncsFile: this.#durable,
      fsyncsFolder: this.#durable && !placed,
    });
    return { file, ...info };
  }

  /**
   * Like `write`, for a small body whose path `Place` has chosen. It is faster than `write`, but blocks the
   * event loop.
   */
  writeDraftSync(body: Uint8Array): Draft {
    const file = this.#newName(DRAFTS);
    const path = join(this.home, file);
    try {
      writeFileSync(path, body, { flag: 'wx', mode: 0o600, flush: this.#durable });
    } catch (error) {
      rmSync(path, { force: true });
      throw error;
    }
    return { file, ...new BodyHashes().update(body).digest() };
  }

  /** Returns a random file name in a folder, and creates the folder if it is missing. */
  #newName(folder: string): string {
    makeFolder(join(this.home, folder), this.#durable);
    return `${folder}/${toHex(this.#env.randomBytes(16))}`;
  }

  /**
   * Moves a draft to its final path and replaces a file there. Must run inside a transaction, whose lock keeps other
   * processes from using the path. A rollback restores the old file.
   */
  placeSync(draft: Draft, place: string, tx: Transaction): void {
    if (!this.hasSync(draft.file)) throw uploadTooSlow();
    const from = join(this.home, draft.file);
    const to = join(this.home, place);
    const before = `${from}.before`;
    makeFolder(dirname(to), this.#durable);
    rmSync(before, { force: true });
    const replaces = linkIfExists(to, before);
    renameSync(from, to);
    tx.onRollback(() => {
      renameSync(to, from);
      if (replaces) renameSync(before, to);
    });
    if (replaces) tx.onCommit(() => this.removeSync(`${draft.file}.before`));
    const folder = dirname(to);
    // Sync the folder as part of the commit, so that the new file name survives a power cut.
    if (this.#durable) tx.beforeCommit(folder, () => fsyncFolderSync(folder));
  }

  /**
   * Returns whether the file exists. Call it inside a transaction. A sweep deletes files under the lock of a
   * transaction too, so either the file is already missing here, or the sweep will see the new row.
   */
  hasSync(file: string): boolean {
    return existsSync(join(this.home, file));
  }

  /**
   * Deletes a file. Readers that have it open can continue. Ignores errors, because no row refers to the file and a
   * sweep deletes it later.
   */
  async remove(file: string): Promise<void> {
    await fs.promises.unlink(join(this.home, file)).catch(() => {});
  }

  removeSync(file: string): void {
    rmSync(join(this.home, file), { force: true });
  }
}

/** Returns whether `Place` chose the path of the file. At such a path, another body may replace the file. */
export function isPlaced(file: string): boolean {
  return !file.startsWith(`${BODIES}/`);
}

/** Normalizes a path that `Place` chose. Rejects paths outside the home or in the engine's own folders. */
export function normalizePlace(place: string): string {
  const clean = normalize(place).split(sep).join('/');
  const first = clean.split('/')[0]!;
  const isReserved =
    first === BODIES || first === '..' || first === '.' || first === '' || !clean.includes('/');
  if (isReserved || isAbsolute(place) || clean.endsWith('/') || clean.includes('\0')) {
    throw badRequest(`a payload cannot be stored at ${JSON.stringify(place)}`);
  }
  return clean;
}

/**
 * Checks a file path in a row of a backup, which may have been edited: it must be one of the engine's own names or a
 * valid path of `Place`.
 */
export function validateFile(file: string): string {
  return /^blobs\/([0-9a-f]{2}|segments)\/[0-9a-f]{32}$/.test(file) ? file : normalizePlace(file);
}

function linkIfExists(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/** Writes a new file piece by piece. Returns its size and hashes. If it fails, no file remains. */
export async function writeBody(
  path: string,
  pieces: AsyncIterable<Uint8Array>,
  o: { fsyncsFile: boolean; fsyncsFolder: boolean },
): Promise<HashedBody> {
  const hashes = new BodyHashes();
  const hashBody = async function* () {
    for await (const piece of pieces) {
      hashes.update(piece);
      yield piece;
    }
  };
  const file = await fs.promises.open(path, 'wx', 0o600);
  try {
    await file.writeFile(hashBody());
    // Sync the file and its folder concurrently, so that the file system can combine both into one disk
    // write.
    await Promise.all([
      o.fsyncsFile ? file.datasync() : undefined,
      o.fsyncsFolder ? syncFolder(dirname(path)) : undefined,
    ]);
    return hashes.digest();
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}
