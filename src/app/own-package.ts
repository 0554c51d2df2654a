import { readFileSync, realpathSync } from 'node:fs';
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

/** With links followed; a file that does not exist keeps its name. */
export function realPath(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}
