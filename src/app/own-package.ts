import { readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

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

/** Tells from now on whether our package was replaced on the disk, and calls `onFirst` when it first finds that. */
export function watchPackage(onFirst: () => void): () => boolean {
  const folder = ownPackage()?.folder;
  const files = [import.meta.filename, ...(folder === undefined ? [] : [join(folder, 'package.json')])];
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
