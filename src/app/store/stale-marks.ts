import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseRoot, type ThreadRoot } from '../../domain/threads/keys.ts';
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
export function setMark(folder: string, root: ThreadRoot): string {
  const path = join(folder, STALE, `${root}.${process.pid}.${unique()}`);
  try {
    writeFileSync(path, '', { mode: 0o600 });
  } catch {
    mkdirSync(join(folder, STALE), { recursive: true, mode: 0o700 });
    writeFileSync(path, '', { mode: 0o600 });
  }
  return path;
}

/** The marks of processes that are no more. */
export function staleMarks(folder: string): { root: ThreadRoot; path: string }[] {
  let names: string[];
  try {
    names = readdirSync(join(folder, STALE));
  } catch {
    return [];
  }
  return names.flatMap((name) => {
    const [, text = '', pid] = /^(.+)\.(\d+)\.[^.]*$/.exec(name) ?? [];
    const root = parseRoot(text);
    const gone = root && Number(pid) !== process.pid && !processExists(Number(pid));
    return gone ? [{ root, path: join(folder, STALE, name) }] : [];
  });
}
