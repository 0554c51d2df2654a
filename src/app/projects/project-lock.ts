import { rmSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { RelayError } from '../../base/errors.ts';
import { PROJECT_LOCK_STALE_MS, PROJECT_LOCK_WAIT_MS } from '../../base/limits.ts';
import { processExists } from '../serve/pid-file.ts';
import { readJsonFile, unique } from '../store/atomic-file.ts';

/**
 * Runs `work` under a lock: a file that only one process can create. The file names the holder of the lock, so that
 * other processes notice if the holder is dead. If a holder pauses too long, another process may take the lock.
 * `held` throws in this case.
 */
export async function withFileLock<T>(
  lock: string,
  { folder, waitMs = PROJECT_LOCK_WAIT_MS }: { readonly folder: string; readonly waitMs?: number },
  work: (held: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const token = unique();
  await acquire(lock, folder, token, waitMs);
  const held = async () => {
    const holder = holderOf(lock);
    if (holder?.token !== token) throw lockedError(lock, folder, holder);
  };
  try {
    return await work(held);
  } finally {
    if (holderOf(lock)?.token === token) rmSync(lock, { force: true });
  }
}

interface Holder {
  readonly pid: number;
  readonly host: string;
  readonly token: string;
}

async function acquire(lock: string, folder: string, token: string, waitMs: number): Promise<void> {
  const until = Date.now() + waitMs;
  for (let pause = 2; ; pause = Math.min(pause * 1.5, 40)) {
    if (create(lock, token)) return;
    const holder = holderOf(lock);
    if (isStale(lock, holder) && breakLock(lock, holder)) continue;
    if (Date.now() > until) throw lockedError(lock, folder, holder);
    await new Promise((resolve) => setTimeout(resolve, pause * (0.5 + Math.random())));
  }
}

function create(path: string, token: string): boolean {
  const holder: Holder = { pid: process.pid, host: hostname(), token };
  try {
    writeFileSync(path, JSON.stringify(holder), { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return false;
    // On a full disk, the failed call leaves an empty file. Delete it, otherwise it would look like a held
    // lock.
    if (code === 'ENOSPC' || code === 'EDQUOT') rmSync(path, { force: true });
    throw error;
  }
}

/** Returns the holder of a lock, or null if there is no lock file, or if it was just created and is still empty. */
function holderOf(path: string): Holder | null {
  return readJsonFile(path) as Holder | null;
}

function isStale(lock: string, holder: Holder | null): boolean {
  const found = statSync(lock, { throwIfNoEntry: false });
  if (found && Date.now() - found.mtimeMs > PROJECT_LOCK_STALE_MS) return true;
  return holder !== null && holder.host === hostname() && !processExists(holder.pid);
}

/**
 * Deletes the lock of a dead holder. Only one process at a time may delete it, otherwise a slow process could
 * delete the new lock of a fast process. Returns false if another process is deleting the lock.
 */
function breakLock(lock: string, dead: Holder | null): boolean {
  const breaking = `${lock}.break`;
  if (!create(breaking, '')) {
    if (isStale(breaking, holderOf(breaking))) rmSync(breaking, { force: true });
    return false;
  }
  try {
    const now = holderOf(lock);
    if (now?.token === dead?.token && isStale(lock, now)) rmSync(lock, { force: true });
    return true;
  } finally {
    rmSync(breaking, { force: true });
  }
}

function lockedError(lock: string, folder: string, holder: Holder | null): RelayError {
  const who = holder ? `process ${holder.pid} on ${holder.host}` : 'unknown';
  return new RelayError('project_locked', { path: folder, who, lock });
}
