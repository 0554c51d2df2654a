import { closeSync, fsync, fsyncSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';

const fsyncLater = promisify(fsync);

/** Windows cannot open a folder, and needs not: NTFS journals its names. */
const SYNCS_FOLDERS = process.platform !== 'win32';

/** Makes the names in a folder survive a power cut: a file is only as durable as its entry there. */
export async function syncFolder(folder: string): Promise<void> {
  if (!SYNCS_FOLDERS) return;
  const fd = openSync(folder, 'r');
  try {
    await fsyncLater(fd);
  } finally {
    closeSync(fd);
  }
}

/** The same at once, for use inside a transaction. */
export function syncFolderNow(folder: string): void {
  if (SYNCS_FOLDERS) syncFileNow(folder);
}

export function syncFileNow(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Makes the folder, for nobody else to read, and every one above it that is missing; where `durable`, for good. */
export function makeFolder(folder: string, durable: boolean): void {
  const first = mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (first === undefined || !durable) return;
  for (let made = folder; ; made = dirname(made)) {
    syncFolderNow(dirname(made));
    if (made === first || made === dirname(made)) return;
  }
}
