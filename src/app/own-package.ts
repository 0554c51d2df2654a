import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** Whether Bun runs this program; else Node does. Nothing else asks which of the two it is. */
export const isBun = process.versions.bun !== undefined;

/** Name and version of the runtime, for `relay version` and reports. */
export const RUNTIME = isBun ? `Bun ${process.versions.bun}` : `Node ${process.versions.node}`;

/** Folder of the files inside an executable that Bun compiled; `fs` reads it like any other folder. */
const EMBEDDED = process.platform === 'win32' ? 'B:\\~BUN\\root' : '/$bunfs/root';

/** Whether runtime, program and its files are one file, `process.execPath`. */
export const isExecutable = import.meta.dirname.startsWith(EMBEDDED);

/** The words that start this very program again. */
export function ownCommand(): readonly string[] {
  return isExecutable ? [process.execPath] : [process.execPath, ...process.execArgv, process.argv[1]!];
}

/** The folder and the version of our package, if that is what a file is in; null where it is another's. */
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

/** A file that came with the program, by its path in the package; null where there is none. */
export function ownFile(path: string): Uint8Array | null {
  const folder = ownPackage()?.folder;
  const place = folder === undefined ? undefined : join(folder, path);
  return place !== undefined && existsSync(place) ? readFileSync(place) : null;
}

/** The paths of the files that came with the program in a folder of the package, and below it. */
export function ownFiles(folder: string): string[] {
  const root = ownPackage()?.folder;
  if (root === undefined || !existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll('\\', '/'));
}

/** The file of a worker thread, which lies beside `importer` in the sources and in the bundle alike. */
export function workerFile(name: string, importer: string): URL {
  return new URL(`./${name}${importer.endsWith('.ts') ? '.ts' : '.js'}`, importer);
}

/** Tells from now on whether our package was replaced on the disk, and calls `onFirst` when it first finds that. */
export function watchPackage(onFirst: () => void): () => boolean {
  // An executable that runs has all of itself, whatever becomes of its file.
  const folder = isExecutable ? undefined : ownPackage()?.folder;
  const files = folder === undefined ? [] : [import.meta.filename, join(folder, 'package.json')];
  const stamp = () =>
    files.map((file) => {
      const stat = statSync(file, { throwIfNoEntry: false });
      return `${stat?.ino} ${stat?.mtimeMs} ${stat?.size}`;
    });
  const known = stamp().join();
  let replaced = false;
  return () => {
    if (!replaced && stamp().join() !== known) {
      replaced = true;
      onFirst();
    }
    return replaced;
  };
}

/** With links followed; a file that does not exist keeps its name. */
export function realPath(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}
