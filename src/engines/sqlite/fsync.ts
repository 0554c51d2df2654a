import { closeSync, existsSync, fsync, fsyncSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** Turns a call with a callback into a promise. Does not use `node:util`, which takes 3 ms to load on Bun. */
export function promised<T = void>(
  call: (done: (error: Error | null, result?: T) => void) => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    call((error, result) => (error ? reject(error) : resolve(result as T)));
  });
}

/** True if folders must be synced. On Windows, folders cannot be opened, and NTFS journals file names anyway. */
const SYNCS_FOLDERS = process.platform !== 'win32';

/** Syncs a folder to disk. Otherwise a new file can lose its name in a power cut. */
export async function syncFolder(folder: string): Promise<void> {
  if (!SYNCS_FOLDERS) return;
  const fd = openSync(folder, 'r');
  try {
    await promised((done) => fsync(fd, done));
  } finally {
    closeSync(fd);
  }
}

/** Synchronous form of `syncFolder`, for use inside a transaction. */
export function fsyncFolderSync(folder: string): void {
  if (SYNCS_FOLDERS) fsyncFileSync(folder);
}

/** Syncs a file to disk. */
export function fsyncFileSync(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * Creates a folder with mode 0700 and its missing parents. Returns the topmost folder that it created, if any. Does
 * not use Node's `recursive` option, which never returns on file systems without folders, such as /proc.
 */
export function makeFolders(folder: string): string | undefined {
  const isThere = () => statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;
  if (isThere()) return undefined;
  const parent = dirname(folder);
  const first = existsSync(parent) ? undefined : makeFolders(parent);
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // If another process has created the folder first, there is no error.
    if (!isThere()) throw error;
    return first;
  }
  return first ?? folder;
}

/** Creates a folder and its missing parents. With `durable`, also syncs their directory entries to disk. */
export function makeFolder(folder: string, durable: boolean): void {
  const first = makeFolders(folder);
  if (first === undefined || !durable) return;
  for (let current = folder; ; current = dirname(current)) {
    fsyncFolderSync(dirname(current));
    if (current === first || current === dirname(current)) return;
  }
}
