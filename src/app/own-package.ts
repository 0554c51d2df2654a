import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { bun } from '../base/bun.ts';
import { orElse } from '../base/or-else.ts';

/** Name and version of the runtime, for `relay version` and reports. */
export const RUNTIME = bun ? `Bun ${process.versions.bun}` : `Node ${process.versions.node}`;

/** Folder of the files that Bun embeds in an executable. `fs` reads it like any other folder. */
const EMBEDDED = process.platform === 'win32' ? 'B:\\~BUN\\root' : '/$bunfs/root';

/** True if runtime, program and files are one executable, `process.execPath`. */
export const isExecutable = import.meta.dirname.startsWith(EMBEDDED);

/** Returns the command line that starts this program again. */
export function ownCommand(): readonly string[] {
  return isExecutable ? [process.execPath] : [process.execPath, ...process.execArgv, process.argv[1]!];
}

/** Returns the folder and version of our package if it contains `file`, else null. */
export function ownPackage(
  file: string = import.meta.filename,
): { readonly folder: string; readonly version: string } | null {
  for (let folder = dirname(realPath(file)); ; folder = dirname(folder)) {
    try {
      const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
      return name === 'contextrelay' ? { folder, version } : null;
    } catch {
      if (dirname(folder) === folder) return null;
    }
  }
}

export function packageVersion(): string {
  return ownPackage()?.version ?? 'unknown';
}

/** Reads a file of this program by its path in the package. Returns null if there is no such file. */
export function ownFile(path: string): Uint8Array | null {
  const folder = ownPackage()?.folder;
  const place = folder === undefined ? undefined : join(folder, path);
  return place !== undefined && existsSync(place) ? readFileSync(place) : null;
}

/**
 * Reads a large file of which only small parts are used. Bun maps the file into memory and reads only the needed
 * pages. So to change such a file, replace it by renaming and never truncate it.
 */
export function readMapped(path: string): Uint8Array {
  return bun && process.platform !== 'win32' ? bun.mmap(path) : readFileSync(path);
}

/** Returns the paths of all files of this program in a folder of the package. */
export function ownFiles(folder: string): string[] {
  const root = ownPackage()?.folder;
  if (root === undefined || !existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll('\\', '/'));
}

/**
 * Returns the URL of the file of a worker thread, which is next to `importer` in the sources and in the
 * bundle.
 */
export function workerFile(name: string, importer: string): URL {
  return new URL(`./${name}${importer.endsWith('.ts') ? '.ts' : '.js'}`, importer);
}

/**
 * Returns a function that checks whether our package was replaced on disk. When it finds a replacement for the
 * first time, it calls `onFirst`.
 */
export function watchPackage(onFirst: () => void): () => boolean {
  // A running executable keeps working after its file was replaced, so it watches nothing.
  const folder = isExecutable ? undefined : ownPackage()?.folder;
  const files = folder === undefined ? [] : [import.meta.filename, join(folder, 'package.json')];
  const stamp = () =>
    files.map((file) => {
      const stat = statSync(file, { throwIfNoEntry: false });
      return `${stat?.ino} ${stat?.mtimeMs} ${stat?.size}`;
    });
  const firstStamp = stamp().join();
  let replaced = false;
  return () => {
    if (!replaced && stamp().join() !== firstStamp) {
      replaced = true;
      onFirst();
    }
    return replaced;
  };
}

/** Resolves symbolic links. A path that does not exist is returned unchanged. */
export function realPath(file: string): string {
  return orElse(() => realpathSync(file), file);
}
