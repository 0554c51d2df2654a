import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { orElse } from '../../base/or-else.ts';
import { parseRoot, type ThreadRoot } from '../../domain/threads/keys.ts';
import { processExists } from '../serve/pid-file.ts';
import { unique } from './atomic-file.ts';

/**
 * Folder with marks of threads whose readable files may be outdated. A mark is a file for one thread and one process.
 * It exists from before a commit until the readable files are written.
 */
const STALE = '.stale';

export function threadsFolder(home: string): string {
  return join(home, 'threads');
}

/**
 * Returns whether a process died before it wrote the readable files of its commits. Reads one folder, which
 * is usually empty.
 */
export function hasStale(home: string): boolean {
  return staleMarks(threadsFolder(home)).length > 0;
}

/** Creates a mark for a thread and returns the path of the mark. */
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

/** Returns the marks of processes that ended before they wrote the readable files. */
export function staleMarks(folder: string): { root: ThreadRoot; path: string }[] {
  const names = orElse(() => readdirSync(join(folder, STALE)), []);
  return names.flatMap((name) => {
    const [, text = '', pid] = /^(.+)\.(\d+)\.[^.]*$/.exec(name) ?? [];
    const root = parseRoot(text);
    const gone = root && Number(pid) !== process.pid && !processExists(Number(pid));
    return gone ? [{ root, path: join(folder, STALE, name) }] : [];
  });
}
