import { randomBytes } from 'node:crypto';
import { open, readFile, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { RelayError } from '../base/errors.ts';
import { PROJECT_LOCK_STALE_MS, PROJECT_LOCK_WAIT_MS } from '../base/limits.ts';

/**
 * A lock across processes: a file that only one of them can make. It names its holder, so that one who died is
 * noticed. `held` tells whether it is still ours: a holder that slept too long may have lost it.
 */
export async function withFileLock<T>(
  lock: string,
  o: { readonly folder: string; readonly waitMs?: number },
  work: (held: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const token = randomBytes(8).toString('hex');
  const { folder, waitMs = PROJECT_LOCK_WAIT_MS } = o;
  await acquire(lock, folder, token, waitMs);
  const held = async () => {
    if ((await holderOf(lock))?.token !== token) throw taken(lock, folder, await holderOf(lock));
  };
  try {
    return await work(held);
  } finally {
    if ((await holderOf(lock))?.token === token) await rm(lock, { force: true });
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
    if (await create(lock, { pid: process.pid, host: hostname(), token })) return;
    const holder = await holderOf(lock);
    if (await isStale(lock, holder)) await breakLock(lock, holder);
    else if (Date.now() > until) throw taken(lock, folder, holder);
    else await new Promise((resolve) => setTimeout(resolve, pause * (0.5 + Math.random())));
  }
}

async function create(path: string, holder: Holder): Promise<boolean> {
  try {
    const file = await open(path, 'wx', 0o600);
    await file.writeFile(JSON.stringify(holder));
    await file.close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function holderOf(path: string): Promise<Holder | null> {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch {
    // Gone, or made this instant and not yet written.
    return null;
  }
}

async function isStale(lock: string, holder: Holder | null): Promise<boolean> {
  const age = await stat(lock).then(
    ({ mtimeMs }) => Date.now() - mtimeMs,
    () => 0,
  );
  if (age > PROJECT_LOCK_STALE_MS) return true;
  return holder !== null && holder.host === hostname() && !isAlive(holder.pid);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Two that notice the same dead holder must not take away each other's new lock: only one of them may look and delete. */
async function breakLock(lock: string, dead: Holder | null): Promise<void> {
  const breaking = `${lock}.break`;
  if (!(await create(breaking, { pid: process.pid, host: hostname(), token: '' }))) {
    if (await isStale(breaking, await holderOf(breaking))) await rm(breaking, { force: true });
    return;
  }
  try {
    const now = await holderOf(lock);
    if (now?.token === dead?.token && (await isStale(lock, now))) await rm(lock, { force: true });
  } finally {
    await rm(breaking, { force: true });
  }
}

function taken(lock: string, folder: string, holder: Holder | null): RelayError {
  const who = holder ? `process ${holder.pid} on ${holder.host}` : 'it has not said who it is';
  return new RelayError('project_locked', { path: folder, who, lock });
}
