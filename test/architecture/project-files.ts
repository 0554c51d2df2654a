import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { SourceFile } from './source-file.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** Folders that tools generate, or that are not part of the project. */
const IGNORED = new Set(['node_modules', 'dist', 'released', '.git', 'coverage', 'deploy/cloudflare/build']);

const TEXT =
  /\.(?:tsx?|mts|mjs|js|json|jsonc|md|ya?ml|toml|html|css|svg|txt|sh|py)$|(?:^|\/)[^./]+$|\/\.[^/.]+$/;

/** Returns every text file in the given folders, by default in the whole project. */
export function projectFiles(folders: readonly string[] = ['.']): SourceFile[] {
  return folders.flatMap((folder) => [...walk(folder === '.' ? '' : folder)]);
}

export function projectFile(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

function* walk(folder: string): Generator<SourceFile> {
  for (const entry of entriesOf(folder)) {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (IGNORED.has(entry.name) || IGNORED.has(path)) continue;
    if (entry.isDirectory()) yield* walk(path);
    else if (entry.isFile() && TEXT.test(path)) yield { path, text: projectFile(path) };
  }
}

function entriesOf(folder: string) {
  try {
    return readdirSync(join(ROOT, folder), { withFileTypes: true });
  } catch (error) {
    // A folder that does not exist has no files to check.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
