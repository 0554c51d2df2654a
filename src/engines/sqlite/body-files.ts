import { existsSync, linkSync, promises, renameSync, rmSync } from 'node:fs';
import { dirname, isAbsolute, join, normalize, sep } from 'node:path';
import type { Env } from '../../base/env.ts';
import { badRequest, RelayError } from '../../base/errors.ts';
import { toHex } from '../../base/ids.ts';
import { BodyHashes, type HashedBody } from '../body-hashes.ts';
import type { Store, Transaction } from './commit-queue.ts';
import { makeFolder, syncFolder } from './fsync.ts';

export const BODIES = 'blobs';
/** Where bodies grow that are placed later. Nothing in here is ever read; what is old was left behind. */
export const DRAFTS = `${BODIES}/draft`;

/** Which bodies are files with names of their own. */
export interface Place {
  /** Only keys that begin so are asked about. */
  readonly prefix: string;
  /** The file of a key, below the home; undefined for one that has no such file. */
  path(key: string): string | undefined;
}

/** A body that is whole and on disk; no row refers to it yet. */
export interface Draft extends HashedBody {
  /** Relative to the home. */
  readonly file: string;
}

/** What is to be stored: in a file, or in the row where it has no spot. */
export interface Content extends HashedBody {
  readonly expires: number | null;
  readonly location?: { readonly file: string; readonly offset: number | null };
  /** What is to be placed at the spot. */
  readonly draft?: Draft;
  /** Of what is held until it is committed. */
  readonly pieces?: readonly Uint8Array[];
}

/** The bodies that are too large for the database, each a file of its own that is written once. */
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
   * Writes the pieces that were read ahead and those still to come into a file with a name that nothing else ever
   * has, and makes it last. Whatever fails, nothing stays behind. One that is to be placed waits among the drafts.
   */
  async write(
    head: readonly Uint8Array[],
    rest: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    placed: boolean,
  ): Promise<Draft> {
    const folder = placed ? DRAFTS : `${BODIES}/${toHex(this.#env.randomBytes(1))}`;
    makeFolder(join(this.home, folder), this.#durable);
    const file = `${folder}/${toHex(this.#env.randomBytes(16))}`;
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
   * Moves the draft to the place the caller chose, over what may be there, to last when the transaction does. Inside that,
   * since its lock is what keeps others from the same place; undone with it.
   */
  placeSync(draft: Draft, place: string, tx: Transaction): void {
    if (!this.hasSync(draft.file)) throw sweptAwayError();
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
    if (this.#durable) tx.syncFolder(dirname(to));
  }

  /** Inside a transaction: a sweep removes files under the same lock, so from here on it sees the row. */
  hasSync(file: string): boolean {
    return existsSync(join(this.home, file));
  }

  /**
   * Readers that have it open go on. What cannot be removed is left to a sweep: it is no longer referred to, so it is
   * in nobody's way.
   */
  async remove(file: string): Promise<void> {
    await promises.unlink(join(this.home, file)).catch(() => {});
  }

  removeSync(file: string): void {
    rmSync(join(this.home, file), { force: true });
  }
}

export function sweptAwayError(): RelayError {
  return new RelayError('busy', { what: 'a sweep took the body away before it was stored' });
}

/** Whether the row's file is at a place the caller chose, where a later body may take its place. */
export function isPlaced(file: string): boolean {
  return !file.startsWith(`${BODIES}/`);
}

/** A place the caller chose, checked: inside the home, and not where the engine keeps its own. */
export function normalizePlace(place: string): string {
  const clean = normalize(place).split(sep).join('/');
  const first = clean.split('/')[0]!;
  const own = first === BODIES || first === '..' || first === '.' || first === '' || !clean.includes('/');
  if (own || isAbsolute(place) || clean.endsWith('/') || clean.includes('\0')) {
    throw badRequest(`a body cannot be kept at ${JSON.stringify(place)}`);
  }
  return clean;
}

/** A path out of a row that somebody else may have written, checked: one of ours, or a place. */
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

/** Writes a new file, piece by piece, and gives what it holds. Where that fails, no file stays behind. */
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
  const file = await promises.open(path, 'wx', 0o600);
  try {
    await file.writeFile(hashBody());
    // Both at once: the file system then makes one trip to the disk of them.
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
