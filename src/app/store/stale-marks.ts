import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isUuid } from '../../base/ids.ts';
import { processExists } from '../serve/pid-file.ts';
import { unique } from './atomic-file.ts';

/**
 * Marks of threads whose legible files may lag behind: one file for each thread and process, set before a commit and
 * taken away after the files have been written.
 */

const STALE = '.stale';

export function threadsFolder(home: string): string {
  return join(home, 'threads');
}

/** Whether a process died before it had written what it had committed. One look at a folder that is mostly empty. */
export function hasStale(home: string): boolean {
  return staleMarks(threadsFolder(home)).length > 0;
}

/** Gives the mark's file. */
export function setMark(folder: string, id: string): string {
  const path = join(folder, STALE, `${id}.${process.pid}.${unique()}`);
  try {
    writeFileSync(path, '', { mode: 0o600 });
  } catch {
    mkdirSync(join(folder, STALE), { recursive: true, mode: 0o700 });
    writeFileSync(path, '', { mode: 0o600 });
  }
  return path;
}

/** The marks of processes that are no more. */
export function staleMarks(folder: string): { id: string; path: string }[] {
  let names: string[];
  try {
    names = readdirSync(join(folder, STALE));
  } catch {
    return [];
  }
  return names.flatMap((name) => {
    const [id = '', pid = ''] = name.split('.');
    const gone = isUuid(id) && Number(pid) !== process.pid && !processExists(Number(pid));
    return gone ? [{ id, path: join(folder, STALE, name) }] : [];
  });
}
