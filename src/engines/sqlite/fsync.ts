import { closeSync, existsSync, fsync, fsyncSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';

const fsyncAsync = promisify(fsync);

/** Windows cannot open a folder, and needs not: NTFS journals its names. */
const SYNCS_FOLDERS = process.platform !== 'win32';

/** Makes the names in a folder survive a power cut: a file is only as durable as its entry there. */
export async function syncFolder(folder: string): Promise<void> {
  if (!SYNCS_FOLDERS) return;
  const fd = openSync(folder, 'r');
  try {
    await fsyncAsync(fd);
  } finally {
    closeSync(fd);
  }
}

/** The same at once, for use inside a transaction. */
export function fsyncFolderSync(folder: string): void {
  if (SYNCS_FOLDERS) fsyncFileSync(folder);
}

export function fsyncFileSync(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * Makes the folder, for nobody else to read, and every one above it that is missing. Gives the first that was made, if any.
 * Node's own `recursive` never ends where a file system takes no folders, such as /proc.
 */
export function makeFolders(folder: string): string | undefined {
  const isThere = () => statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;
  if (isThere()) return undefined;
  const parent = dirname(folder);
  const first = existsSync(parent) ? undefined : makeFolders(parent);
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another process may have been faster.
    if (!isThere()) throw error;
    return first;
  }
  return first ?? folder;
}

/** The same; where `durable`, for good. */
export function makeFolder(folder: string, durable: boolean): void {
  const first = makeFolders(folder);
  if (first === undefined || !durable) return;
  for (let made = folder; ; made = dirname(made)) {
    fsyncFolderSync(dirname(made));
    if (made === first || made === dirname(made)) return;
  }
}
